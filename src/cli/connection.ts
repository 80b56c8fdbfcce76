import type { App, WorkInProgress } from '../domain/app.ts'
import type { Millis } from '../domain/clock.ts'
import type { Door, Told } from '../gateway/api.ts'
import { type Daemon, isGone } from '../gateway/client.ts'
import { localDoor } from '../gateway/local-door.ts'
import type { Here } from './cli.ts'
import { pickedUp } from './picked-up.ts'

const lastMoment: Millis = 3000

/** The way to an engine for as long as a talk lasts: the daemon while it lives, else the one in this process. */
export class Connection {
  readonly #here: Here
  readonly #app: App
  readonly #tell: (text: string) => void
  /** Sessions whose work is ours as soon as nobody else does it. */
  readonly #sessions = new Set<string>()
  readonly #works = new Map<string, Promise<WorkInProgress>>()
  #door: Door
  #alone: Promise<void> | undefined

  constructor(here: Here, app: App, daemon: Daemon | undefined, tell: (text: string) => void) {
    this.#here = here
    this.#app = app
    this.#tell = tell
    this.#door = daemon ?? localDoor(app)
    if (!daemon) this.#alone = Promise.resolve()
  }

  get door(): Door {
    return this.#door
  }

  get isAlone(): boolean {
    return this.#alone !== undefined
  }

  /** Asks whoever is there; what a daemon did not answer any more is asked of ourselves. */
  async ask<T>(what: (door: Door) => Promise<T>): Promise<T> {
    try {
      return await what(this.#door)
    } catch (error) {
      if (!isGone(error)) throw error
      await this.#goOnAlone()
      return what(this.#door)
    }
  }

  /** What happens from a moment on, whoever tells it. */
  async *stream(from: string | null, signal: AbortSignal): AsyncIterable<Told> {
    let cursor = from
    while (!signal.aborted) {
      try {
        for await (const told of this.#door.stream({ ...(cursor !== null && { after: cursor }), signal })) {
          if (told.kind === 'event') cursor = told.event.cursor
          yield told
        }
      } catch (error) {
        if (!isGone(error)) throw error
        await this.#goOnAlone()
      }
    }
  }

  /** Sees to it that the work of a session is done, by us if there is no daemon. The session must exist. */
  async workOn(session: string): Promise<void> {
    this.#sessions.add(session)
    if (this.#alone === undefined || this.#works.has(session)) return
    const beginning = this.#app.work({ folder: this.#here.folder, session })
    this.#works.set(session, beginning)
    const work = await beginning
    const told = pickedUp(work)
    if (told !== undefined) this.#tell(told)
  }

  /** Gives back what is under way here; what is noted about the talk right now has a moment more. */
  async close({ inHaste }: { inHaste: boolean }): Promise<void> {
    const { folder, clock } = this.#here
    const [enough, left] = [new AbortController(), new AbortController()]
    if (inHaste) enough.abort()
    else void clock.sleep(lastMoment, left.signal).then(() => enough.abort())
    const leave = async (work: WorkInProgress) => {
      await work.narrated(folder, enough.signal)
      await work.stop()
    }
    for (const beginning of this.#works.values()) await beginning.then(leave).catch(() => undefined)
    left.abort()
  }

  #goOnAlone(): Promise<void> {
    this.#alone ??= (async () => {
      this.#door = localDoor(this.#app)
      this.#tell('the daemon is gone; nothing is lost, going on without it')
    })().then(async () => {
      for (const session of this.#sessions) await this.workOn(session)
    })
    return this.#alone
  }
}
