import type { App, RunView, TurnView } from '../domain/app.ts'
import type { Event } from '../domain/event.ts'
import { tail } from '../domain/id.ts'
import { isTerminal } from '../domain/run.ts'
import type { Door, Told } from '../gateway/api.ts'
import { isGone } from '../gateway/client.ts'
import { localDoor } from '../gateway/local-door.ts'
import { answerPage } from './answer-page.ts'
import type { Here } from './cli.ts'
import { EventLines } from './event-lines.ts'
import { runView } from './live-runs.ts'
import { type Pane, plainPane, terminalPane } from './pane.ts'
import { paint, printable, type Screen } from './screen.ts'
import { Speech } from './speech.ts'

/** Whom is watched: one run until it ends, or a session until the person has seen enough. */
export interface Watched {
  session: string
  folder: string
  /** The run to begin with; a session may have none. */
  run: RunView | undefined
  /** Runs under way that work for it. */
  children: string[]
  untilEnd: boolean
}

/** One watching, from the first line to the last. */
export class Watching {
  readonly #here: Here
  readonly #app: App
  readonly #watched: Watched
  readonly #screen: Screen
  readonly #pane: Pane
  readonly #lines: EventLines
  readonly #speech = new Speech()
  readonly #over = new AbortController()
  /** Runs of the session that are watched, and those that they began. */
  readonly #runs = new Set<string>()
  readonly #children = new Set<string>()
  readonly #ended = new Set<string>()
  readonly #turns = new Map<string, string>()
  /** Runs that answered what was typed: their end belongs to what is watched. */
  readonly #answering = new Set<string>()
  #unanswered = 0
  #hasTyped = false
  #door: Door

  constructor(here: Here, app: App, watched: Watched) {
    this.#here = here
    this.#app = app
    this.#watched = watched
    this.#door = localDoor(app)
    this.#screen = here.json ? { ...here.screen, color: false, isTerminal: false } : here.screen
    this.#lines = new EventLines(this.#screen)
    this.#pane = this.#makePane()
  }

  /** Tells what happens until it is over; answers the id of the session's last run. */
  async follow(door: Door, from: string | null): Promise<string | undefined> {
    const signal = AbortSignal.any([this.#here.stopped, this.#over.signal])
    this.#door = door
    let cursor = from
    try {
      await this.#introduce()
      while (!this.#isOver() && !signal.aborted) {
        try {
          for await (const told of this.#door.stream({ ...(cursor !== null && { after: cursor }), signal })) {
            if (told.kind === 'event') cursor = told.event.cursor
            await this.#hear(told)
            if (this.#isOver()) break
          }
        } catch (error) {
          if (!isGone(error)) throw error
          this.#goOnAlone()
        }
      }
    } finally {
      this.#pane.close()
    }
    return [...this.#runs].at(-1)
  }

  #makePane(): Pane {
    const { stdout, stderr, stdin, suspend } = this.#here.io
    if (!this.#screen.isTerminal) return plainPane((text) => void (this.#here.json ? stderr : stdout).write(text))
    if (!stdin.isTTY) return terminalPane(this.#screen, stdout)
    return terminalPane(this.#screen, stdout, {
      input: stdin,
      suspend,
      prompt: () => '> ',
      onLine: (text) => void this.#say(text),
      onInterrupt: () => this.#over.abort(),
      onEnd: () => this.#over.abort(),
    })
  }

  /** What there is so far. */
  async #introduce(): Promise<void> {
    const { run, session, children } = this.#watched
    for (const child of children) this.#children.add(child)
    const agents = `${children.length} agent${children.length === 1 ? '' : 's'} at work for it`
    if (run) await this.#introduceRun(run)
    else
      this.#pane.print(
        `session ${printable(session)}: ${children.length > 0 ? agents : 'nothing runs, waiting for what comes'}`,
      )
    if (run && children.length > 0) this.#pane.print(agents)
    if (this.#screen.isTerminal && this.#here.io.stdin.isTTY && !this.#isOver())
      this.#pane.print(
        paint(this.#screen, 'dim', 'what you type reaches the run at its next step, !… interrupts it; Ctrl-C leaves'),
      )
  }

  async #introduceRun(run: RunView): Promise<void> {
    const name = paint(this.#screen, 'yellow', `run:${tail(run.id)}`)
    const doing = isTerminal(run.state) ? '' : `, ${printable(run.doing)}`
    this.#pane.print(`${name} in ${printable(run.session ?? '–')}: ${run.state}${doing}`)
    this.#runs.add(run.id)
    for (const { seq, kind, name, at } of run.steps)
      this.#pane.print(
        this.#lines.line({
          cursor: '',
          at: at === null ? Number.NaN : Date.parse(at),
          kind: 'run.step',
          subject: `run:${run.id}`,
          payload: { seq, kind, name },
        }),
      )
    if (isTerminal(run.state)) await this.#tellEnd(run.id, run.turnId)
    else if (run.state === 'queued' && !(await this.#here.daemon()))
      this.#pane.print('nobody is at work on it yet    heddle up')
  }

  /** A run is watched to its end, and to the answers to what was typed meanwhile. */
  #isOver(): boolean {
    const { untilEnd, run } = this.#watched
    const hasEnded = (id: string) => this.#ended.has(id)
    return untilEnd && hasEnded(run?.id ?? '') && this.#unanswered === 0 && [...this.#answering].every(hasEnded)
  }

  async #hear(told: Told): Promise<void> {
    if (told.kind === 'live') this.#speech.hear(told.sign)
    else await this.#hearEvent(told.event)
    const speaking = [...this.#runs].findLast((id) => !this.#ended.has(id))
    this.#pane.show(speaking === undefined ? '' : this.#speech.of(speaking))
  }

  async #hearEvent(event: Event): Promise<void> {
    const id = event.subject.slice(event.subject.indexOf(':') + 1)
    if (event.kind === 'turn.added') this.#turns.set(String(event.payload['run']), id)
    if (!event.kind.startsWith('run.') || this.#ended.has(id) || this.#wasTold(event, id)) return
    if (!this.#isWatched(event, id)) return
    this.#pane.show('')
    this.#pane.print(this.#lines.line(event))
    if (event.kind === 'run.ended' && this.#runs.has(id)) await this.#tellEnd(id, this.#turns.get(id) ?? null)
  }

  /** Steps that were there at the first look come again from the cursor before it. */
  #wasTold({ kind, payload }: Event, id: string): boolean {
    const { run } = this.#watched
    const last = run?.id === id ? (run.steps.at(-1)?.seq ?? 0) : 0
    return kind === 'run.step' && Number(payload['seq']) <= last
  }

  /** Whether this is about what is watched: the session's run, the next one if it answers us, and whom they began. */
  #isWatched({ payload }: Event, id: string): boolean {
    if (this.#runs.has(id) || this.#children.has(id)) return true
    const { session, folder, untilEnd } = this.#watched
    if (payload['session'] === session && payload['folder'] === folder && (!untilEnd || this.#hasTyped))
      return this.#runs.add(id).has(id)
    const parent = String(payload['parent'])
    return (this.#runs.has(parent) || this.#children.has(parent)) && this.#children.add(id).has(id)
  }

  async #tellEnd(runId: string, turnId: string | null): Promise<void> {
    this.#ended.add(runId)
    this.#speech.forget(runId)
    if (turnId === null) return
    const turn = (await this.#app.show('/', `turn:${turnId}`)) as TurnView
    this.#pane.show('')
    const { createdAt } = await runView(this.#app, runId)
    const took = Date.parse(turn.timestamp) - Date.parse(createdAt)
    this.#pane.print(answerPage(this.#screen, { ...turn, text: turn.response.content, turnId, took }))
  }

  /** Hands in what was typed. */
  async #say(text: string): Promise<void> {
    const { folder, session } = this.#watched
    const isInterrupt = text.startsWith('!')
    const content = isInterrupt ? text.slice(1).trim() : text
    if (content === '') return
    this.#hasTyped = true
    this.#unanswered++
    const asked = { session, content, kind: isInterrupt ? ('interrupt' as const) : ('steer' as const) }
    try {
      const { itemId } = await this.#door.submit(folder, asked)
      const who = isInterrupt ? 'you, interrupting:' : 'you:'
      this.#pane.print(`${paint(this.#screen, 'bold', who)} ${printable(content)}`)
      const answered = await this.#answer(itemId)
      if (answered.runId !== null) this.#answering.add(answered.runId)
    } catch (error) {
      this.#pane.print(`not handed in: ${error instanceof Error ? printable(error.message) : error}`)
    } finally {
      this.#unanswered--
      if (this.#isOver()) this.#over.abort()
    }
  }

  #answer(itemId: string) {
    const { folder } = this.#watched
    const ask = (door: Door) => door.answer(folder, itemId, this.#over.signal)
    return ask(this.#door).catch((error) => (isGone(error) ? ask(localDoor(this.#app)) : Promise.reject(error)))
  }

  #goOnAlone(): void {
    this.#door = localDoor(this.#app)
    this.#pane.show('')
    this.#pane.print('the daemon is gone; nothing is lost, but only what is done is told    heddle up')
  }
}
