import { join } from 'node:path'
import { isUrgentCommand } from '../../commands/dispatch.ts'
import type { Millis } from '../../domain/clock.ts'
import { shortId } from '../../domain/id.ts'
import type { Client, StreamItem } from '../../gateway/api.ts'
import { homePaths } from '../../home/home.ts'
import type { CommandContext } from '../command.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { mentionsIn } from '../input/read-prompt.ts'
import { lookupsOf, runsOfTarget } from '../live/live-runs.ts'
import { type EndedRun, SessionRenderer } from '../live/session-renderer.ts'
import { routeLine } from '../pages/route-line.ts'
import { refusalCode } from '../refusal-code.ts'
import { historyIn } from '../terminal/line-history.ts'
import type { Pane } from '../terminal/pane.ts'
import { paint, printable } from '../terminal/screen.ts'
import { KnownAgentNames } from './agent-names.ts'
import { keyboardHelp, readChatLine } from './chat-line.ts'
import { ChatQuestions } from './chat-questions.ts'
import type { ChatSettings } from './chat-settings.ts'
import { completionsIn } from './completions.ts'
import { Connection } from './connection.ts'
import { greeting } from './greeting.ts'
import { markSeen } from './last-visit.ts'
import { ModelChoice } from './model-choice.ts'
import { type Notify, notifier } from './notify.ts'
import { Outbox, type OutgoingMessage } from './outbox.ts'
import { outcomeLines } from './outcome-lines.ts'
import { ProgramInChat } from './program-in-chat.ts'
import { errorNotice, leaveNotice, messageLines, notice, waitingLine } from './talk-lines.ts'
import { talkPane } from './talk-pane.ts'

const longTurn: Millis = 10_000
const doublePress: Millis = 2000

/** One interactive chat, from the greeting to the farewell. */
export class ChatSession {
  readonly #here: CommandContext
  readonly #settings: ChatSettings
  readonly #notify: Notify
  readonly #pane: Pane
  readonly #over = new AbortController()
  readonly #isTyped: boolean
  readonly #connection: Connection
  readonly #outbox: Outbox
  readonly #questions: ChatQuestions
  readonly #program: ProgramInChat
  readonly #agents = new KnownAgentNames()
  /** Resolves after the greeting: typed lines wait for it. */
  readonly #ready = Promise.withResolvers<void>()
  #session: string
  readonly #modelChoice: ModelChoice
  #renderer: SessionRenderer
  #todo: Promise<void> = this.#ready.promise
  #idle = Promise.withResolvers<void>()
  /** Lines to print with the next redraw. */
  readonly #pendingLines: string[] = []
  #note = ''
  #interruptedAt = Number.NEGATIVE_INFINITY
  #code = 0
  /** Exit code of the last piped line that was refused; 0 if none was. */
  #refusal = 0

  constructor(here: CommandContext, client: Client, settings: ChatSettings) {
    this.#here = here
    this.#isTyped = here.io.stdin.isTTY === true
    this.#settings = settings
    const [stream, command] = [here.io.stdout, settings.notifyCommand]
    this.#notify = notifier(here, { stream, command, tell: (text) => this.#notice(text) })
    this.#connection = new Connection(here, client, (text) => this.#notice(text), settings)
    this.#outbox = new Outbox(this.#connection, here.folder)
    const print = (text: string) => this.#print(text)
    this.#questions = new ChatQuestions(this.#connection, here, { print, lend: (use) => this.#pane.lend(use) })
    this.#program = new ProgramInChat(here)
    this.#session = settings.session
    this.#modelChoice = new ModelChoice(settings)
    this.#renderer = this.#rendererOf(settings.session)
    this.#pane = talkPane(here, {
      prompt: () => paint(here.screen, 'bold', this.#prompt),
      completions: completionsIn(here.folder, () => this.#agents.names),
      history: historyIn(join(homePaths(here.home).run, 'history')),
      takesEmpty: () => this.#questions.takesEmpty,
      onLine: (line) => this.#typed(line),
      onInterrupt: (typed) => this.#interrupt(typed),
      onEnd: () => this.#end(),
    })
  }

  /** Runs until the user leaves; returns the exit code. */
  async run(): Promise<number> {
    const { signals } = this.#here.io
    signals.on('SIGINT', () => this.#program.interrupt() || this.#interrupt(''))
    for (const signal of ['SIGTERM', 'SIGHUP'] as const)
      signals.on(signal, () => {
        this.#program.interrupt(signal)
        this.#leave(130)
      })
    try {
      // Read before the current state, so that no event is missed in between.
      const cursor = await this.#connection.ask((client) => client.cursor())
      await this.#begin()
      this.#ready.resolve()
      void this.#tick()
      for await (const item of this.#connection.stream(cursor, this.#over.signal)) await this.#apply(item)
    } finally {
      this.#over.abort()
      this.#pane.close()
      // Typed messages are submitted first; running work then goes back to the queue.
      await this.#outbox.whenSent()
      await this.#connection.close({ inHaste: this.#code === 130 })
    }
    await this.#sayGoodbye()
    return this.#code
  }

  async #begin(): Promise<void> {
    const { folder } = this.#here
    const label = this.#session
    const isThere = (await this.#ask((client) => client.sessions({ folder, label }))).rows.length > 0
    // Read before this process starts working, so that runs left by a crash are recognised.
    const request = await this.#ask((client) => runsOfTarget(client, { session: this.#session, folder }))
    if (isThere) await this.#connection.workOn(this.#session)
    this.#readAgents()
    // Pipes and files get the conversation only.
    if (this.#here.io.stdout.isTTY) {
      const hint = this.#isTyped ? '/help lists the commands; Ctrl-C stops a turn, twice quits\n' : ''
      this.#print(`${await this.#greeting(request.length)}\n${paint(this.#here.screen, 'dim', hint)}`)
    }
    await this.#renderer.join(request)
    await this.#questions.look(this.#place)
    this.#draw()
  }

  #ask<T>(what: (client: Client) => Promise<T>): Promise<T> {
    return this.#connection.ask(what)
  }

  get #place() {
    return { session: this.#session, folder: this.#here.folder }
  }

  async #greeting(ownRuns = 0): Promise<string> {
    return greeting(this.#here, {
      ...this.#settings,
      client: this.#connection.client,
      session: this.#session,
      model: this.#modelChoice.model,
      ownRuns,
      daemon: this.#connection.isAlone ? undefined : await this.#here.daemon(),
    })
  }

  #notice(text: string): void {
    const { screen, tell, io } = this.#here
    if (io.stdout.isTTY) this.#print(notice(screen, text))
    else tell(printable(text))
    this.#draw()
  }

  get #prompt(): string {
    return this.#questions.prompt ?? `${printable(this.#session)}> `
  }

  get #isBusy(): boolean {
    return this.#renderer.isBusy || this.#outbox.waiting.length > 0
  }

  #rendererOf(session: string): SessionRenderer {
    const { screen, clock, folder } = this.#here
    return new SessionRenderer(
      { session, folder },
      {
        screen,
        clock,
        print: (text) => this.#print(text),
        model: () => this.#modelChoice.name,
        lookup: lookupsOf((what) => this.#ask(what)),
        onStart: (runId) => this.#started(runId),
        onEnd: (ended) => this.#ended(ended),
        onNeedsYou: (runId, why) => this.#notify(`run:${shortId(runId)} is waiting for your ${why}`),
      },
    )
  }

  async #apply(item: StreamItem): Promise<void> {
    await this.#renderer.apply(item)
    if (item.kind === 'event' && item.event.kind.startsWith('run.') && this.#outbox.waiting.length > 0)
      await this.#printStarted()
    if (item.kind === 'event' && this.#questions.mayDiffer(item.event)) await this.#refreshQuestions()
    this.#draw()
  }

  /** Piped input cannot answer: leaves, and the question stays open. */
  async #refreshQuestions(): Promise<void> {
    await this.#questions.look(this.#place)
    if (this.#questions.current && !this.#isTyped) this.#leave(exitCodeOf({ status: 'waiting', approvals: [] }))
  }

  #print(text: string): void {
    this.#pendingLines.push(text)
  }

  #draw(): void {
    const { screen } = this.#here
    const waiting = this.#outbox.waiting.filter(({ isShown }) => !isShown)
    const queue = waiting.map((message) => waitingLine(screen, message))
    const moving = [this.#renderer.moving, ...queue, this.#note].filter((part) => part !== '').join('\n')
    const lines = this.#pendingLines.splice(0)
    if (lines.length > 0) this.#pane.print(lines.join('\n'), moving)
    else this.#pane.show(moving)
    if (this.#isBusy) return
    this.#idle.resolve()
    if (!this.#over.signal.aborted) this.#pane.ask()
  }

  /** Redraws each second, so that a silent run shows how long it is silent. */
  async #tick(): Promise<void> {
    const { clock } = this.#here
    while (!this.#over.signal.aborted) {
      await clock.sleep(1000, this.#over.signal)
      if (clock.monotonic() - this.#interruptedAt > doublePress) this.#note = ''
      if (!this.#over.signal.aborted) this.#draw()
    }
  }

  #typed(line: string): void {
    this.#pane.answered()
    this.#note = ''
    this.#interruptedAt = Number.NEGATIVE_INFINITY
    this.#todo = this.#todo.then(() => this.#take(line)).catch((error) => this.#complain(error))
  }

  async #take(line: string): Promise<void> {
    if (this.#over.signal.aborted) return
    if (await this.#questions.take(line, this.#place)) return this.#draw()
    const typed = readChatLine(line, { isTyped: this.#isTyped })
    const isUrgent =
      typed.kind === 'command' ? isUrgentCommand(line) : typed.kind === 'say' && typed.how === 'interrupt'
    if (!this.#isTyped && !isUrgent) await this.#whenIdle()
    if (typed.kind === 'say') {
      await this.#say(typed.how, typed.content)
      return this.#draw()
    }
    // The pane has removed the typed line.
    if (this.#isTyped && this.#here.screen.isTerminal)
      this.#print(paint(this.#here.screen, 'bold', this.#prompt + printable(line)))
    if (typed.kind === 'program') await this.#run(typed.argv)
    else await this.#command(line)
    this.#draw()
  }

  async #run(argv: string[]): Promise<void> {
    this.#draw()
    await this.#pane.lend(() => this.#program.run(argv))
  }

  /** Carries out a command, and applies what comes of it to this chat. */
  async #command(line: string): Promise<void> {
    const { screen, folder, clock } = this.#here
    const input = { line, session: this.#session, ...this.#modelChoice.voice }
    const outcome = await this.#ask((client) => client.command(folder, input))
    const { blocks, go, voice, say, leave } = outcome
    if (voice) this.#modelChoice.set(voice)
    if (blocks.length > 0)
      this.#print(`${outcomeLines(screen, outcome, clock.now())}${isHelp(line) ? `\n${keyboardHelp}` : ''}`)
    if (go) await this.#go(go)
    if (say) await this.#say(say.kind, say.content)
    if (line.startsWith('/agents')) this.#readAgents()
    if (leave) this.#leave(this.#code)
  }

  /** Names to complete: the chat does not wait for them, and goes on without them. */
  #readAgents(): void {
    if (this.#isTyped) this.#ask((client) => this.#agents.read(client, this.#here.folder)).catch(() => undefined)
  }

  async #say(how: OutgoingMessage['how'], content: string): Promise<void> {
    const message: OutgoingMessage = { content, how, parts: [], isShown: !this.#isBusy }
    try {
      const { folder, home } = this.#here
      const found = await this.#ask((client) => mentionsIn({ folder, home, client: async () => client }, content))
      message.parts = found.parts
      if (found.notice !== undefined) this.#notice(found.notice)
    } catch (error) {
      this.#echo(message)
      return this.#complain(error, 'not sent: ')
    }
    if (message.isShown) this.#echo(message)
    try {
      this.#idle = Promise.withResolvers()
      const options = { session: this.#session, ...this.#modelChoice.optionsFor(how) }
      const sending = this.#outbox.send(message, options)
      this.#draw()
      const { routedTo } = await sending
      if (routedTo) this.#notice(routeLine(routedTo))
      await this.#printStarted()
    } catch (error) {
      this.#complain(error, 'not sent: ')
    }
  }

  /** Prints messages whose run has started. */
  async #printStarted(): Promise<void> {
    for (const message of await this.#outbox.takeStarted((runId) => this.#renderer.isKnown(runId)))
      if (!message.isShown) this.#echo(message)
    this.#draw()
  }

  /** Prints a message, unless the terminal has echoed it already. */
  #echo(message: OutgoingMessage): void {
    const { screen } = this.#here
    if (screen.isTerminal || !this.#isTyped) this.#print(messageLines(screen, this.#prompt, message))
  }

  async #started(runId: string): Promise<void> {
    await this.#outbox.whenSent()
    await this.#printStarted()
    if (this.#outbox.isAnsweredBy(runId)) return
    const { asked, rootRunId } = await this.#ask((client) => client.run(runId))
    // A run that its own agents woke continues an earlier message, which is printed already.
    if (rootRunId === runId)
      this.#print(`${paint(this.#here.screen, 'bold', this.#prompt + printable(asked))}  (run:${shortId(runId)})`)
  }

  #ended({ state, took, asked }: EndedRun): void {
    this.#code = this.#isTyped ? 0 : exitCodeOf({ status: state }) || this.#refusal
    this.#note = ''
    markSeen(this.#here)
    if (took < longTurn || state === 'cancelled') return
    this.#notify(`${this.#session} ${state === 'completed' ? 'is done' : state}: ${asked}`)
  }

  /** Shows another session. Work in the one before continues. */
  async #go({ session, isNew }: { session: string; isNew: boolean }): Promise<void> {
    this.#session = session
    this.#renderer = this.#rendererOf(session)
    this.#outbox.clear()
    if (isNew) return
    // Read before this process starts working, as at the beginning.
    const request = await this.#ask((client) => runsOfTarget(client, this.#place))
    await this.#connection.workOn(session)
    await this.#renderer.join(request)
    await this.#questions.look(this.#place)
  }

  /** First press: stops the turn, or clears the typed line. Second: leaves. Third: exits at once. */
  #interrupt(typed: string): void {
    if (this.#over.signal.aborted) this.#here.io.exit(130)
    const now = this.#here.clock.monotonic()
    const isAgain = now - this.#interruptedAt < doublePress
    this.#interruptedAt = now
    if (this.#renderer.runId === undefined && typed !== '') {
      this.#interruptedAt = Number.NEGATIVE_INFINITY
      this.#pane.clearTyped()
    } else if (isAgain) this.#leave(130)
    else {
      const { runId } = this.#renderer
      const isUnderWay = runId !== undefined
      if (isUnderWay)
        void this.#ask((client) => client.cancel(runId, 'stopped by Ctrl-C')).catch((error) => this.#complain(error))
      const note = `${isUnderWay ? 'stopping; ' : ''}Ctrl-C again leaves`
      this.#note = paint(this.#here.screen, 'yellow', note)
      this.#draw()
    }
  }

  /** Ctrl-D leaves at once; at the end of a piped file the last message is answered first. */
  #end(): void {
    if (this.#isTyped) this.#leave(0)
    else this.#todo = this.#todo.then(() => this.#whenIdle()).then(() => this.#leave(this.#code))
  }

  async #whenIdle(): Promise<void> {
    if (this.#isBusy) await this.#idle.promise
  }

  #leave(code: number): void {
    this.#code = code
    this.#over.abort()
  }

  #complain(error: unknown, what = ''): void {
    if (!this.#isTyped) {
      this.#refusal = refusalCode(error)
      this.#code = this.#refusal
    }
    if (this.#over.signal.aborted) return
    this.#print(errorNotice(this.#here.screen, error, what))
    this.#draw()
  }

  /** Tells the user where the running turn continues. */
  async #sayGoodbye(): Promise<void> {
    const { runId } = this.#renderer
    markSeen(this.#here)
    if (runId !== undefined) await this.#here.write(`${leaveNotice(runId, this.#connection.isAlone)}\n`)
  }
}

const isHelp = (line: string) => /^\/(help|\?)\s*$/i.test(line)
