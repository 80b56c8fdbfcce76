import type { RunView } from '../../api/views/run.ts'
import type { TurnView } from '../../api/views/turn.ts'
import { type Event, stepsIn } from '../../domain/event.ts'
import { shortId } from '../../domain/id.ts'
import { isTerminal } from '../../domain/run.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { Client, StreamItem } from '../../gateway/api.ts'
import { isDaemonGone } from '../../gateway/daemon-request.ts'
import type { CommandContext } from '../command.ts'
import { answerPage } from '../pages/answer-page.ts'
import { type Pane, plainPane, terminalPane } from '../terminal/pane.ts'
import { paint, printable, type Screen } from '../terminal/screen.ts'
import { EventLines } from './event-lines.ts'
import { retryWithoutDaemon } from './retry-without-daemon.ts'
import { StreamedText } from './streamed-text.ts'

/** Target of a watch: one run until it ends, or a session until the user leaves. */
export interface WatchScope {
  session: string
  folder: string
  /** The run to begin with; a session may have none. */
  run: RunView | undefined
  /** Active runs that work for it. */
  children: string[]
  untilEnd: boolean
}

/** Watches a run or a session and prints its events. */
export class SessionWatcher {
  readonly #here: CommandContext
  readonly #scope: WatchScope
  readonly #screen: Screen
  readonly #pane: Pane
  readonly #lines: EventLines
  readonly #stream = new StreamedText()
  readonly #over = new AbortController()
  /** Watched runs of the session, and those that they started. */
  readonly #runs = new Set<string>()
  readonly #children = new Set<string>()
  readonly #ended = new Set<string>()
  /** Runs that answer typed messages: watching lasts until they end. */
  readonly #answering = new Set<string>()
  #unanswered = 0
  #hasTyped = false
  #client: Client
  #alone: Promise<void> | undefined

  constructor(here: CommandContext, client: Client, scope: WatchScope) {
    this.#here = here
    this.#scope = scope
    this.#client = client
    this.#screen = here.json ? { ...here.screen, color: false, isTerminal: false } : here.screen
    this.#lines = new EventLines(this.#screen)
    this.#pane = this.#makePane()
  }

  /** Prints events until the end; returns the id of the session's last run. */
  async follow(from: string | null): Promise<string | undefined> {
    const signal = AbortSignal.any([this.#here.stopped, this.#over.signal])
    let cursor = from
    try {
      await this.#introduce()
      while (!this.#isOver() && !signal.aborted) {
        try {
          for await (const item of this.#client.stream({ ...(cursor !== null && { after: cursor }), signal })) {
            if (item.kind === 'event') cursor = item.event.cursor
            await this.#apply(item)
            if (this.#isOver()) break
          }
        } catch (error) {
          if (!isDaemonGone(error)) throw error
          await this.#continueAlone()
        }
      }
    } finally {
      this.#pane.close()
    }
    return [...this.#runs].at(-1)
  }

  /** Asks the daemon; if that is gone, the engine in this process. */
  ask<T>(what: (client: Client) => Promise<T>): Promise<T> {
    return retryWithoutDaemon(
      () => what(this.#client),
      () => this.#continueAlone(),
    )
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

  /** Prints the current state. */
  async #introduce(): Promise<void> {
    const { run, session, children } = this.#scope
    for (const child of children) this.#children.add(child)
    const agents = `${countNoun(children.length, 'agent')} running for it`
    if (run) await this.#introduceRun(run)
    else
      this.#pane.print(
        `session ${printable(session)}: ${children.length > 0 ? agents : 'nothing is running, waiting for new work'}`,
      )
    if (run && children.length > 0) this.#pane.print(agents)
    if (this.#screen.isTerminal && this.#here.io.stdin.isTTY && !this.#isOver())
      this.#pane.print(
        paint(this.#screen, 'dim', 'type to steer the run at its next step, !… interrupts it; Ctrl-C leaves'),
      )
  }

  async #introduceRun(run: RunView): Promise<void> {
    const name = paint(this.#screen, 'yellow', `run:${shortId(run.id)}`)
    const doing = isTerminal(run.state) ? '' : `, ${printable(run.doing)}`
    this.#pane.print(`${name} in ${printable(run.session ?? '–')}: ${run.state}${doing}`)
    this.#runs.add(run.id)
    for (const { seq, kind, name, at } of run.steps)
      this.#pane.print(
        this.#lines.lines({
          cursor: '',
          at: at === null ? Number.NaN : Date.parse(at),
          kind: 'run.step',
          subject: `run:${run.id}`,
          payload: { seq, kind, name },
        }),
      )
    if (isTerminal(run.state)) await this.#printAnswer(run.id, run.turnId)
    else if (run.state === 'queued' && !(await this.#here.daemon()))
      this.#pane.print('no process is working on it yet    heddle up')
  }

  /** A run is watched until it ends and typed messages are answered. */
  #isOver(): boolean {
    const { untilEnd, run } = this.#scope
    const hasEnded = (id: string) => this.#ended.has(id)
    return untilEnd && hasEnded(run?.id ?? '') && this.#unanswered === 0 && [...this.#answering].every(hasEnded)
  }

  async #apply(item: StreamItem): Promise<void> {
    if (item.kind === 'live') this.#stream.apply(item.delta)
    else await this.#applyEvent(item.event)
    const streaming = [...this.#runs].findLast((id) => !this.#ended.has(id))
    this.#pane.show(streaming === undefined ? '' : this.#stream.of(streaming))
  }

  async #applyEvent(event: Event): Promise<void> {
    const id = event.subject.slice(event.subject.indexOf(':') + 1)
    if (!event.kind.startsWith('run.') || this.#ended.has(id) || this.#wasPrinted(event, id)) return
    if (!this.#isWatched(event, id)) return
    this.#pane.show('')
    this.#pane.print(this.#lines.lines(event))
    if (event.kind === 'run.ended' && this.#runs.has(id)) await this.#printAnswer(id, String(event.payload['turn']))
  }

  /** Steps in the first view are streamed again, since the cursor was read before it. */
  #wasPrinted(event: Event, id: string): boolean {
    const { run } = this.#scope
    const last = run?.id === id ? (run.steps.at(-1)?.seq ?? 0) : 0
    return event.kind === 'run.step' && stepsIn(event).every(({ seq }) => Number(seq) <= last)
  }

  /** Whether an event is about the session's run, the next one if it answers a typed message, or runs they started. */
  #isWatched({ payload }: Event, id: string): boolean {
    if (this.#runs.has(id) || this.#children.has(id)) return true
    const { session, folder, untilEnd } = this.#scope
    if (payload['session'] === session && payload['folder'] === folder && (!untilEnd || this.#hasTyped))
      return this.#runs.add(id).has(id)
    const parent = String(payload['parent'])
    return (this.#runs.has(parent) || this.#children.has(parent)) && this.#children.add(id).has(id)
  }

  async #printAnswer(runId: string, turnId: string | null): Promise<void> {
    this.#ended.add(runId)
    this.#stream.forget(runId)
    if (turnId === null) return
    const turn = (await this.ask((client) => client.show('/', `turn:${turnId}`))) as TurnView
    this.#pane.show('')
    const { createdAt } = await this.ask((client) => client.run(runId))
    const took = Date.parse(turn.timestamp) - Date.parse(createdAt)
    this.#pane.print(answerPage(this.#screen, { ...turn, text: turn.response.content, turnId, took }))
  }

  /** Submits a typed line. */
  async #say(text: string): Promise<void> {
    const { folder, session } = this.#scope
    const isInterrupt = text.startsWith('!')
    const content = isInterrupt ? text.slice(1).trim() : text
    if (content === '') return
    this.#hasTyped = true
    this.#unanswered++
    const message = { session, content, kind: isInterrupt ? ('interrupt' as const) : ('steer' as const) }
    try {
      const { itemId } = await this.#client.submit(folder, message)
      const who = isInterrupt ? 'you, interrupting:' : 'you:'
      this.#pane.print(`${paint(this.#screen, 'bold', who)} ${printable(content)}`)
      const answered = await this.#answer(itemId)
      if (answered.runId !== null) this.#answering.add(answered.runId)
    } catch (error) {
      this.#pane.print(`not sent: ${error instanceof Error ? printable(error.message) : error}`)
    } finally {
      this.#unanswered--
      if (this.#isOver()) this.#over.abort()
    }
  }

  #answer(itemId: string) {
    const { folder } = this.#scope
    return this.ask((client) => client.answer(folder, itemId, this.#over.signal))
  }

  #continueAlone(): Promise<void> {
    this.#alone ??= (async () => {
      this.#client = await this.#here.app()
      this.#pane.show('')
      this.#pane.print('lost connection to the daemon; nothing is lost, but only finished steps are shown    heddle up')
    })()
    return this.#alone
  }
}
