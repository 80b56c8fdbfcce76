import type { WorkInProgress } from '../../api/views/run.ts'
import type { Millis } from '../../domain/clock.ts'
import type { Client, StreamItem } from '../../gateway/api.ts'
import { isDaemonGone } from '../../gateway/daemon-request.ts'
import type { CommandContext } from '../command.ts'
import { recoveryNotice } from '../live/recovery-notice.ts'
import { retryWithoutDaemon } from '../live/retry-without-daemon.ts'

const closeTimeout: Millis = 3000

/** Connection of a chat to an engine: the daemon while it lives, else the engine in this process. */
export class Connection {
  readonly #here: CommandContext
  readonly #tell: (text: string) => void
  /** Sessions that this process works on once the daemon is gone. */
  readonly #sessions = new Set<string>()
  readonly #works = new Map<string, Promise<WorkInProgress>>()
  #client: Client
  #alone: Promise<void> | undefined

  constructor(here: CommandContext, client: Client, tell: (text: string) => void, { isAlone }: { isAlone: boolean }) {
    this.#here = here
    this.#tell = tell
    this.#client = client
    if (isAlone) this.#alone = Promise.resolve()
  }

  get client(): Client {
    return this.#client
  }

  get isAlone(): boolean {
    return this.#alone !== undefined
  }

  /** Calls the current client. If the daemon is gone, repeats the call on the engine in this process. */
  ask<T>(what: (client: Client) => Promise<T>): Promise<T> {
    return retryWithoutDaemon(
      () => what(this.#client),
      () => this.#continueAlone(),
    )
  }

  /** Events from a cursor on, across the loss of the daemon. */
  async *stream(from: string | null, signal: AbortSignal): AsyncIterable<StreamItem> {
    let cursor = from
    while (!signal.aborted) {
      try {
        for await (const item of this.#client.stream({ ...(cursor !== null && { after: cursor }), signal })) {
          if (item.kind === 'event') cursor = item.event.cursor
          yield item
        }
      } catch (error) {
        if (!isDaemonGone(error)) throw error
        await this.#continueAlone()
      }
    }
  }

  /** Ensures that a session is worked on: by this process if there is no daemon. The session must exist. */
  async workOn(session: string): Promise<void> {
    this.#sessions.add(session)
    if (this.#alone === undefined || this.#works.has(session)) return
    const beginning = this.#here.heddle().then((heddle) => heddle.work({ folder: this.#here.folder, session }))
    this.#works.set(session, beginning)
    const work = await beginning
    const notice = recoveryNotice(work)
    if (notice !== undefined) this.#tell(notice)
  }

  /** Releases running work to the queue, after waiting briefly for the session summary. */
  async close({ inHaste }: { inHaste: boolean }): Promise<void> {
    const { folder, clock } = this.#here
    const [enough, left] = [new AbortController(), new AbortController()]
    if (inHaste) enough.abort()
    else void clock.sleep(closeTimeout, left.signal).then(() => enough.abort())
    const leave = async (work: WorkInProgress) => {
      await work.whenNarrated(folder, enough.signal)
      await work.stop()
    }
    for (const beginning of this.#works.values()) await beginning.then(leave).catch(() => undefined)
    left.abort()
  }

  #continueAlone(): Promise<void> {
    this.#alone ??= (async () => {
      this.#client = await this.#here.app()
      this.#tell('lost connection to the daemon; nothing is lost, continuing here')
    })().then(async () => {
      for (const session of this.#sessions) await this.workOn(session)
    })
    return this.#alone
  }
}
