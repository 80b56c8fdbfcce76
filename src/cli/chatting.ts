import { join } from 'node:path'
import type { App } from '../domain/app.ts'
import type { Millis } from '../domain/clock.ts'
import { tail } from '../domain/id.ts'
import type { Told } from '../gateway/api.ts'
import type { Daemon } from '../gateway/client.ts'
import { homePaths } from '../home/home.ts'
import { partsNamedIn, unknownAgentIn } from './asked.ts'
import { chatHelp, type Wish, wishIn } from './chat-commands.ts'
import { ChatQuestions } from './chat-questions.ts'
import { freshLabel, sessionLines, sessionNamed } from './chat-sessions.ts'
import type { ChatSettings } from './chat-settings.ts'
import { Voice } from './chat-voice.ts'
import type { Here } from './cli.ts'
import { completionsIn } from './completions.ts'
import { Connection } from './connection.ts'
import { greeting } from './greeting.ts'
import { historyIn } from './line-history.ts'
import { looksInto, runsAt, runView } from './live-runs.ts'
import { type Notify, notifier } from './notify.ts'
import { Outbox, type Said } from './outbox.ts'
import type { Pane } from './pane.ts'
import { paint, printable } from './screen.ts'
import { markSeen } from './seen.ts'
import { complaint, farewell, notice, saidLines, waitingLine } from './talk-lines.ts'
import { talkPane } from './talk-pane.ts'
import { type Ended, Telling } from './telling.ts'
import { exitCodeOf } from './waiting.ts'

const longTurn: Millis = 10_000
const twiceWithin: Millis = 2000

/** One talk, from the greeting to the farewell. */
export class Chatting {
  readonly #here: Here
  readonly #app: App
  readonly #settings: ChatSettings
  readonly #notify: Notify
  readonly #pane: Pane
  readonly #over = new AbortController()
  readonly #isTyped: boolean
  readonly #connection: Connection
  readonly #outbox: Outbox
  readonly #questions: ChatQuestions
  /** Nothing that is typed is heeded before the greeting. */
  readonly #ready = Promise.withResolvers<void>()
  #session: string
  readonly #voice: Voice
  #telling: Telling
  #todo: Promise<void> = this.#ready.promise
  #idle = Promise.withResolvers<void>()
  /** What is to be printed with the next stroke, together with what moves then. */
  readonly #kept: string[] = []
  #note = ''
  #interruptedAt = Number.NEGATIVE_INFINITY
  #code = 0

  constructor(here: Here, app: App, daemon: Daemon | undefined, settings: ChatSettings) {
    this.#here = here
    this.#isTyped = here.io.stdin.isTTY === true
    this.#app = app
    this.#settings = settings
    const [stream, command] = [here.io.stdout, settings.notifyCommand]
    this.#notify = notifier(here, { stream, command, tell: (text) => this.#notice(text) })
    this.#connection = new Connection(here, app, daemon, (text) => this.#notice(text))
    this.#outbox = new Outbox(this.#connection, here.folder)
    const print = (text: string) => this.#print(text)
    this.#questions = new ChatQuestions(this.#connection, here, { print, lend: (use) => this.#pane.lend(use) })
    this.#session = settings.session
    this.#voice = new Voice(settings)
    this.#telling = this.#tellingOf(settings.session)
    this.#pane = talkPane(here, {
      prompt: () => paint(here.screen, 'bold', this.#prompt),
      completions: completionsIn(here.folder),
      history: historyIn(join(homePaths(here.home).run, 'history')),
      takesEmpty: () => this.#questions.takesEmpty,
      onLine: (line) => this.#typed(line),
      onInterrupt: (typed) => this.#interrupt(typed),
      onEnd: () => this.#end(),
    })
  }

  /** Talks until the person has had enough; answers the exit code. */
  async talk(): Promise<number> {
    const interrupt = () => this.#interrupt('')
    const leave = () => this.#leave(130)
    const { signals } = this.#here.io
    signals.on('SIGINT', interrupt).on('SIGTERM', leave)
    try {
      // Before the look at what there is, so that nothing falls between the two.
      const cursor = await this.#connection.ask((door) => door.cursor())
      await this.#begin()
      this.#ready.resolve()
      void this.#tick()
      for await (const told of this.#connection.stream(cursor, this.#over.signal)) await this.#hear(told)
    } finally {
      this.#over.abort()
      this.#pane.close()
      // What was typed is on its way or handed in; what is under way here goes back to the queue.
      await this.#outbox.whenSent()
      await this.#connection.close({ inHaste: this.#code === 130 })
      signals.off('SIGINT', interrupt).off('SIGTERM', leave)
    }
    await this.#sayGoodbye()
    return this.#code
  }

  async #begin(): Promise<void> {
    const { folder } = this.#here
    const isThere = (await this.#app.sessions({ folder })).some(({ label }) => label === this.#session)
    // Before we begin ourselves, so that what a crash left is told as such.
    const request = await runsAt(this.#app, { session: this.#session, folder })
    if (isThere) await this.#connection.workOn(this.#session)
    // Who reads a pipe or a file wants what is said, and nothing around it.
    if (this.#here.io.stdout.isTTY) {
      const hint = this.#isTyped ? '/help tells what you can type; Ctrl-C stops a turn, twice leaves\n' : ''
      this.#print(`${await this.#greeting(request.length)}\n${paint(this.#here.screen, 'dim', hint)}`)
    }
    await this.#telling.join(request)
    await this.#questions.look(this.#place)
    this.#draw()
  }

  get #place() {
    return { session: this.#session, folder: this.#here.folder }
  }

  async #greeting(ownRuns = 0): Promise<string> {
    return greeting(this.#here, {
      app: this.#app,
      door: this.#connection.door,
      session: this.#session,
      model: this.#voice.model,
      isCoordinated: this.#settings.isCoordinated,
      perRequestUsd: this.#settings.perRequestUsd,
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
    return this.#telling.isBusy || this.#outbox.waiting.length > 0
  }

  #tellingOf(session: string): Telling {
    const { screen, clock, folder } = this.#here
    return new Telling(
      { session, folder },
      {
        screen,
        clock,
        print: (text) => this.#print(text),
        model: () => this.#voice.name,
        look: looksInto(this.#app, (what) => this.#connection.ask(what)),
        onStart: (runId) => this.#started(runId),
        onEnd: (ended) => this.#ended(ended),
        onNeedsYou: (runId, why) => this.#notify(`run:${tail(runId)} needs you: ${why}`),
      },
    )
  }

  async #hear(told: Told): Promise<void> {
    await this.#telling.hear(told)
    if (told.kind === 'event' && told.event.kind.startsWith('run.') && this.#outbox.waiting.length > 0)
      await this.#sortOut()
    if (told.kind === 'event' && this.#questions.mayDiffer(told.event)) await this.#heedQuestions()
    this.#draw()
  }

  /** Who is not there to answer is not kept waiting: the question stays, and can be answered later. */
  async #heedQuestions(): Promise<void> {
    await this.#questions.look(this.#place)
    if (this.#questions.current && !this.#isTyped) this.#leave(exitCodeOf({ status: 'waiting', approvals: [] }))
  }

  #print(text: string): void {
    this.#kept.push(text)
  }

  #draw(): void {
    const { screen } = this.#here
    const waiting = this.#outbox.waiting.filter(({ isShown }) => !isShown)
    const queue = waiting.map((said) => waitingLine(screen, said))
    const moving = [this.#telling.moving, ...queue, this.#note].filter((part) => part !== '').join('\n')
    const kept = this.#kept.splice(0)
    if (kept.length > 0) this.#pane.print(kept.join('\n'), moving)
    else this.#pane.show(moving)
    if (this.#isBusy) return
    this.#idle.resolve()
    if (!this.#over.signal.aborted) this.#pane.ask()
  }

  /** Silence is something that has to be told, too. */
  async #tick(): Promise<void> {
    const { clock } = this.#here
    while (!this.#over.signal.aborted) {
      await clock.sleep(1000, this.#over.signal)
      if (clock.monotonic() - this.#interruptedAt > twiceWithin) this.#note = ''
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
    const wish = wishIn(line)
    const isUrgent = wish.kind === 'stop' || (wish.kind === 'say' && wish.how !== 'message')
    if (!this.#isTyped && !isUrgent) await this.#whenIdle()
    await this.#fulfil(wish)
    this.#draw()
  }

  async #fulfil(wish: Wish): Promise<void> {
    const print = (text: string) => this.#print(text)
    switch (wish.kind) {
      case 'say':
        return this.#say(wish.how, wish.content)
      case 'stop':
        return this.#stop('stopped by /stop')
      case 'status':
        return print(`${await this.#greeting()}\n`)
      case 'help':
        return print(`${chatHelp}\n`)
      case 'quit':
        return this.#leave(0)
      case 'model':
        return print(this.#voice.choose(wish.name))
      case 'think':
        return print(this.#voice.think(wish.level))
      case 'sessions':
        return print(`${await sessionLines(this.#app, this.#here, this.#session)}\n`)
      case 'switch':
        return this.#switch(wish.label)
      case 'new':
        return this.#startSession(wish.label)
      case 'fork':
        return this.#fork(wish.turn, wish.label)
    }
  }

  async #say(how: Said['how'], content: string): Promise<void> {
    const said: Said = { content, how, parts: [], isShown: !this.#isBusy }
    try {
      said.parts = await partsNamedIn(this.#here, content)
      const unknown = await unknownAgentIn(this.#here, content)
      if (unknown !== undefined) this.#notice(unknown)
    } catch (error) {
      this.#echo(said)
      return this.#complain(error, 'not sent: ')
    }
    if (said.isShown) this.#echo(said)
    try {
      this.#idle = Promise.withResolvers()
      const asked = { session: this.#session, ...this.#voice.wishes }
      const sending = this.#outbox.send(said, asked)
      this.#draw()
      await sending
      await this.#sortOut()
    } catch (error) {
      this.#complain(error, 'not sent: ')
    }
  }

  /** What has found its run stands in the talk from there on. */
  async #sortOut(): Promise<void> {
    for (const said of await this.#outbox.taken((runId) => this.#telling.hasHeardOf(runId)))
      if (!said.isShown) this.#echo(said)
    this.#draw()
  }

  /** Whoever types where it stays has it on their screen already. */
  #echo(said: Said): void {
    const { screen } = this.#here
    if (screen.isTerminal || !this.#isTyped) this.#print(saidLines(screen, this.#prompt, said))
  }

  async #started(runId: string): Promise<void> {
    await this.#outbox.whenSent()
    await this.#sortOut()
    if (this.#outbox.isAnsweredBy(runId)) return
    const { asked, rootRunId } = await runView(this.#app, runId)
    // One that its own agents woke goes on with what was asked before.
    if (rootRunId === runId)
      this.#print(`${paint(this.#here.screen, 'bold', this.#prompt + printable(asked))}  (run:${tail(runId)})`)
  }

  #ended({ state, took, asked }: Ended): void {
    this.#code = this.#isTyped ? 0 : exitCodeOf({ status: state })
    this.#note = ''
    markSeen(this.#here)
    if (took < longTurn || state === 'cancelled') return
    this.#notify(`${this.#session} ${state === 'completed' ? 'is done' : state}: ${asked}`)
  }

  async #startSession(label: string | undefined): Promise<void> {
    this.#go(await freshLabel(this.#app, this.#here.folder, label), 'begins with your next message')
  }

  async #switch(label: string): Promise<void> {
    const { label: session, depth } = await sessionNamed(this.#app, this.#here.folder, label)
    if (session === this.#session) return this.#print(`you are in ${printable(session)}    /sessions`)
    this.#go(session, `has ${depth} ${depth === 1 ? 'turn' : 'turns'}`)
    // Before we take it up, as at the beginning.
    const request = await runsAt(this.#app, this.#place)
    await this.#connection.workOn(session)
    await this.#telling.join(request)
    await this.#questions.look(this.#place)
  }

  async #fork(turn: string | undefined, label: string | undefined): Promise<void> {
    const asked = { turn: turn ?? this.#session, ...(label !== undefined && { label }) }
    const { session, headTurnId } = await this.#app.fork(this.#here.folder, asked)
    this.#go(session, `starts at turn:${tail(headTurnId)}`)
    await this.#connection.workOn(session)
  }

  /** What the session before is at goes on. */
  #go(session: string, how: string): void {
    const back = `/switch ${this.#session}`
    this.#session = session
    this.#telling = this.#tellingOf(session)
    this.#outbox.forget()
    this.#print(`session ${printable(session)} ${how}    back: ${printable(back)}`)
  }

  async #stop(reason: string): Promise<void> {
    const { runId } = this.#telling
    if (runId === undefined) return this.#print(this.#isBusy ? 'it has not begun yet' : 'nothing is under way')
    this.#note = paint(this.#here.screen, 'yellow', 'stopping …')
    this.#draw()
    await this.#connection.ask((door) => door.cancel(runId, reason))
  }

  /** Once stops the turn, or takes back what was typed; twice leaves; a third time does not wait for anything. */
  #interrupt(typed: string): void {
    if (this.#over.signal.aborted) this.#here.io.exit(130)
    const now = this.#here.clock.monotonic()
    const isAgain = now - this.#interruptedAt < twiceWithin
    this.#interruptedAt = now
    if (this.#telling.runId === undefined && typed !== '') {
      this.#interruptedAt = Number.NEGATIVE_INFINITY
      this.#pane.clearTyped()
    } else if (isAgain) this.#leave(130)
    else {
      const isUnderWay = this.#telling.runId !== undefined
      if (isUnderWay) void this.#stop('stopped by Ctrl-C').catch((error) => this.#complain(error))
      const note = `${isUnderWay ? 'stopping; ' : ''}Ctrl-C again leaves`
      this.#note = paint(this.#here.screen, 'yellow', note)
      this.#draw()
    }
  }

  /** A person who closes their keyboard has gone; a file that ends has still to be answered. */
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
    if (this.#over.signal.aborted) return
    this.#print(complaint(this.#here.screen, error, what))
    this.#draw()
  }

  /** What is under way is not lost, and whoever leaves is told where it is. */
  async #sayGoodbye(): Promise<void> {
    const { runId } = this.#telling
    markSeen(this.#here)
    if (runId === undefined) return
    await this.#here.write(`${farewell(runId, this.#connection.isAlone)}\n`)
  }
}
