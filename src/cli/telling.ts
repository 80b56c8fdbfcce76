import type { RunLine, RunView, TurnView } from '../domain/app.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Event } from '../domain/event.ts'
import { tail } from '../domain/id.ts'
import type { PlanLine, PlanView } from '../domain/plan-views.ts'
import type { Outcome } from '../domain/run.ts'
import type { Told } from '../gateway/api.ts'
import { inThousands, lastLine } from './answer-page.ts'
import { callLine } from './call-line.ts'
import { PlansTold } from './plans-told.ts'
import { paint, printable, type Screen } from './screen.ts'
import { money } from './spending-words.ts'
import { SpokenLines } from './spoken-lines.ts'
import { remedyLine } from './talk-lines.ts'

const silentAfter: Millis = 5000
const mostMoving = 6
/** Ends a turn of somebody who waits for others. */
const waitCall = 'wait'

/** Someone at work: the session's own run, or one that works for it. */
interface AtWork {
  id: string
  depth: number
  agent: string | undefined
  startedAt: Millis
  /** False while it waits for a free place. */
  isBegun: boolean
  /** When it last gave a sign of life. */
  signAt: Millis
  calls: Map<string, { name: string; about: string | undefined; at: Millis }>
  /** How often it used which tool. */
  used: Map<string, number>
  waits: string
}

export interface Ended {
  runId: string
  state: Outcome
  took: Millis
  asked: string
}

/** What can be looked up about what was told. */
export interface Looks {
  turn(id: string): Promise<TurnView>
  run(id: string): Promise<RunView>
  plan(id: number): Promise<PlanView>
  plans(folder: string): Promise<PlanLine[]>
}

/** What a session's telling needs of the rest. */
export interface Around {
  screen: Screen
  clock: Clock
  /** The model that is asked for. */
  model(): string
  print(text: string): void
  look: Looks
  /** The session's own run has begun, for the first time as far as we know. */
  onStart(runId: string): Promise<void>
  onEnd(ended: Ended): void
  onNeedsYou(runId: string, why: string): void
}

/** Tells what happens in one session: tool calls, agents at work for it, words as they are said, and answers. */
export class Telling {
  readonly #place: { session: string; folder: string }
  readonly #around: Around
  readonly #spoken: SpokenLines
  readonly #plans: PlansTold
  readonly #children = new Map<string, AtWork>()
  /** Agents by their sessions: one that is woken by its own children goes on in a new run. */
  readonly #agents = new Map<string, { agent: string; depth: number }>()
  readonly #turns = new Map<string, string>()
  readonly #ended = new Set<string>()
  /** How far below the session's own everyone of our runs is: tasks of a plan begin long after who started it has ended. */
  readonly #depths = new Map<string, number>()
  #own: AtWork | undefined
  /** The session's next run: it is told of before the end of the one before it. */
  #next: AtWork | undefined
  #lastOwn: string | undefined
  #spent = { model: '', usd: 0 }
  #printed: 'words' | 'calls' | undefined

  constructor(place: { session: string; folder: string }, around: Around) {
    this.#place = place
    this.#around = around
    this.#plans = new PlansTold(place, around.screen, around.look)
    this.#spoken = new SpokenLines(around.screen, (text) => this.#print('words', text))
  }

  /** Whether the session, or someone for it, is at work. */
  get isBusy(): boolean {
    return this.#own !== undefined || this.#children.size > 0 || this.#plans.isBusy
  }

  /** What is to be cancelled to stop all of it: the session's run, or the one whose children are still at work. */
  get runId(): string | undefined {
    return this.#own?.id ?? (this.isBusy ? this.#lastOwn : undefined)
  }

  /** Whether we have heard of this run, as one of the session's own. */
  hasHeardOf(runId: string): boolean {
    return this.#ended.has(runId) || this.#own?.id === runId || this.#next?.id === runId
  }

  /** Takes up what was under way when we came. */
  async join(runs: RunLine[]): Promise<void> {
    const { session, folder } = this.#place
    const { clock } = this.#around
    const own = runs.find((run) => run.session === session && run.folder === folder)
    for (const { id, depth, agent, ageSeconds, waitingFor, state } of runs.filter((run) => run !== own)) {
      const child = atWork(id, { depth, agent }, clock.now() - ageSeconds * 1000)
      child.waits = waitingFor === undefined ? '' : `waits for ${printable(waitingFor)}`
      child.isBegun = state !== 'queued'
      this.#children.set(id, child)
      this.#depths.set(id, depth)
    }
    await this.#plans.begin()
    this.#lastOwn = own?.id ?? runs[0]?.rootRunId
    if (!own) return
    this.#own = atWork(own.id, { depth: 0, agent: undefined }, clock.now() - own.ageSeconds * 1000)
    await this.#around.onStart(own.id)
  }

  async hear(told: Told): Promise<void> {
    if (told.kind === 'event') return this.#hearEvent(told.event)
    const run = this.#own?.id === told.sign.runId ? this.#own : this.#children.get(told.sign.runId)
    if (!run) return
    run.signAt = this.#around.clock.now()
    run.waits = ''
    if (run === this.#own) this.#spoken.hear(told.sign)
  }

  /** What may still change: words that are being said, calls under way, who is at work, and how it stands. */
  get moving(): string {
    const { screen, clock } = this.#around
    const now = clock.now()
    const all = [...(this.#own ? [this.#own] : []), ...this.#children.values()]
    const doing = all.flatMap((run) => this.#doing(run, now))
    const more = doing.length - mostMoving
    return [
      ...(this.#own ? [this.#spoken.moving] : []),
      ...doing.slice(0, mostMoving),
      ...(more > 0 ? [paint(screen, 'dim', `and ${more} more    heddle ps`)] : []),
      paint(screen, 'dim', this.#standing(now)),
    ]
      .filter((part) => part !== '')
      .join('\n')
  }

  #doing(run: AtWork, now: Millis): string[] {
    const { screen } = this.#around
    const who = { runId: run.id, depth: run.depth, agent: run.agent }
    const calls = [...run.calls.values()].map(({ name, about, at }) => ({ what: name, about, took: now - at }))
    if (run === this.#own) return calls.map((call) => callLine(screen, { ...who, ...call }))
    const { what, about } = calls.at(-1) ?? { what: run.isBegun ? silence(run, now) || 'thinks' : 'queued' }
    const took = now - run.startedAt
    const task = this.#plans.doing(run.id, [what, about ?? ''].join(' ').trim(), took)
    return [task ?? callLine(screen, { ...who, what, about, took })]
  }

  #standing(now: Millis): string {
    if (!this.isBusy) return ''
    const { model, usd } = this.#spent
    const own = this.#own
    const begun = [...this.#children.values()].filter(({ isBegun }) => isBegun).length
    const agents = begun === 1 ? '1 agent at work' : `${begun} agents at work`
    const silent = own && own.calls.size === 0 ? silence(own, now, this.#spoken.hasSpoken) : ''
    return [
      own ? `run:${tail(own.id)}` : '',
      silent,
      this.#children.size > 0 ? agents : '',
      ...this.#plans.standing,
      own ? printable(model || this.#around.model()) : '',
      usd > 0 ? `up to ${money(usd)}` : '',
      'Ctrl-C stops',
    ]
      .filter((part) => part !== '')
      .join(' · ')
  }

  async #hearEvent(event: Event): Promise<void> {
    const { kind, subject, payload, at } = event
    const id = subject.slice(subject.indexOf(':') + 1)
    if (kind === 'turn.added') this.#hearTurn(id, payload)
    if (kind === 'plan.changed' || kind === 'task.changed') return this.#hearPlan(event)
    if (!kind.startsWith('run.') || this.#ended.has(id)) return
    const run = this.#known(id) ?? this.#meet(id, payload, at)
    if (!run) return
    run.signAt = this.#around.clock.now()
    if (kind === 'run.started') await this.#start(run, at)
    if (kind === 'run.step') this.#step(run, payload, at)
    if (kind === 'run.waiting') this.#wait(run, payload)
    if (kind === 'run.limited') this.#limit(run, payload)
    if (kind === 'run.ended') await this.#end(run, String(payload['state']), at)
  }

  #hearTurn(id: string, { run, compaction }: Event['payload']): void {
    const runId = String(run)
    if (compaction === undefined) this.#turns.set(runId, id)
    else if (runId === this.#own?.id) this.#tellSummary('older turns', compaction as Event['payload'])
  }

  #tellSummary(what: string, { from, to }: Event['payload']): void {
    const text = `${what} summarised: ${inThousands(Number(from))} → ${inThousands(Number(to))} tokens`
    this.#print('calls', paint(this.#around.screen, 'dim', text))
  }

  async #hearPlan(event: Event): Promise<void> {
    await this.#plans.hear(event)
    const { screen } = this.#around
    if (this.#plans.givesUp(event)) this.#print('calls', paint(screen, 'yellow', `${event.subject} is cancelled`))
    for (const { runId, skill } of this.#plans.atWork)
      if (runId !== undefined && !this.#ended.has(runId) && !this.#known(runId))
        this.#addChild(runId, { agent: skill, depth: 1 }, event.at)
  }

  #known(id: string): AtWork | undefined {
    return [this.#own, this.#next].find((run) => run?.id === id) ?? this.#children.get(id)
  }

  /** Someone of whom we hear for the first time, if they have to do with this session. */
  #meet(id: string, payload: Event['payload'], at: Millis): AtWork | undefined {
    const label = String(payload['session'])
    const parentDepth = this.#depths.get(String(payload['parent'])) ?? this.#agents.get(label)?.depth
    if (label === this.#place.session && payload['folder'] === this.#place.folder) {
      const own = atWork(id, { depth: 0, agent: undefined }, at)
      if (this.#own) this.#next = own
      else this.#own = own
      this.#lastOwn = id
      this.#depths.set(id, 0)
      return own
    }
    if (parentDepth === undefined) return undefined
    const known = this.#agents.get(label)
    const who = known ?? { agent: String(payload['agent'] ?? 'general'), depth: parentDepth + 1 }
    this.#agents.set(label, who)
    return this.#addChild(id, who, at)
  }

  #addChild(id: string, who: { agent: string; depth: number }, at: Millis): AtWork {
    const child = atWork(id, who, at)
    this.#children.set(id, child)
    this.#depths.set(id, who.depth)
    return child
  }

  async #start(run: AtWork, at: Millis): Promise<void> {
    run.waits = ''
    run.isBegun = true
    if (run !== this.#own) return
    run.startedAt = Math.min(run.startedAt, at)
    void this.#lookAtSpending(run.id)
    await this.#around.onStart(run.id)
  }

  #step(run: AtWork, payload: Event['payload'], at: Millis): void {
    const { screen } = this.#around
    const call = String(payload['call'])
    const name = String(payload['name'])
    switch (payload['kind']) {
      case 'reply':
        if (run !== this.#own) return
        this.#spoken.finish()
        void this.#lookAtSpending(run.id)
        return
      case 'begun':
        run.calls.set(call, { name, about: payload['about'] as string | undefined, at })
        run.used.set(name, (run.used.get(name) ?? 0) + 1)
        return
      case 'ended': {
        const begun = run.calls.get(call)
        run.calls.delete(call)
        // What others do is told as it happens, and in one line when they are done; to wait is nothing to tell.
        if (run !== this.#own || name === waitCall) return
        const took = begun && at - begun.at
        const who = { runId: run.id, depth: 0 }
        const status = String(payload['status'])
        this.#print('calls', callLine(screen, { ...who, what: name, about: begun?.about, took, status }))
        return
      }
      case 'compact':
        this.#tellSummary('what it did so far was', payload)
    }
  }

  #wait(run: AtWork, payload: Event['payload']): void {
    const { screen, clock, onNeedsYou } = this.#around
    const why = printable(String(payload['for']))
    const tell = (text: string) => this.#print('calls', paint(screen, 'yellow', text))
    if (why === 'retry') {
      const pause = Math.max(0, Math.ceil((Number(payload['until']) - clock.now()) / 1000))
      const error = printable(String(payload['error'] ?? ''))
      run.waits = `${error}, tries again`
      tell(`run:${tail(run.id)}  ${error}; tries again in ${pause} s`)
    } else {
      run.waits = `waits for ${why}`
      // What it asks stands below by itself.
      if (why !== 'approval' && why !== 'budget')
        tell(`needs you: run:${tail(run.id)} waits for ${why}    heddle show run:${tail(run.id)}`)
      onNeedsYou(run.id, why)
    }
  }

  #limit({ id }: AtWork, payload: Event['payload']): void {
    const why = printable(`${payload['why']}    ${payload['setting']}`)
    this.#print('calls', paint(this.#around.screen, 'yellow', `run:${tail(id)}  ${why}`))
  }

  async #end(run: AtWork, state: string, at: Millis): Promise<void> {
    this.#ended.add(run.id)
    if (run !== this.#own) {
      if (run === this.#next) this.#next = undefined
      if (!this.#children.delete(run.id)) return
      return this.#tellChild(run, state, at)
    }
    const turnId = this.#turns.get(run.id)
    const { look, onEnd } = this.#around
    const [view, turn] = await Promise.all([look.run(run.id), turnId === undefined ? undefined : look.turn(turnId)])
    if (turn) this.#tellAnswer(view, turn)
    this.#own = this.#next
    this.#next = undefined
    const took = tookOf(view)
    onEnd({ runId: run.id, state: state as Outcome, took, asked: view.asked })
  }

  #tellAnswer(view: RunView, turn: TurnView): void {
    const { screen, print } = this.#around
    const isDone = turn.status === 'completed'
    // What a run that did not get to its end says is about that, and told in its own way.
    this.#spoken.finish(isDone ? turn.response.content : undefined)
    if (!isDone && view.error) {
      const word = { failed: 'failed: ', timeout: 'timed out: ', cancelled: '', completed: '' }[turn.status]
      print(paint(screen, turn.status === 'cancelled' ? 'yellow' : 'red', word + printable(view.error.message)))
      if (turn.status === 'failed') print(remedyLine(screen, view.error.remedy))
    }
    const more = {
      // While others are at work for it, it holds what they may cost.
      ...(this.#children.size === 0 && { request: view.budget.request }),
      ...(!isDone && { next: `heddle retry run:${tail(view.id)}` }),
    }
    // Who waits for others has not answered yet: that turn is one of several on the way.
    if (!isDone || !this.#own?.used.has(waitCall) || this.#children.size === 0) {
      print(lastLine(screen, { ...turn, turnId: turn.id, took: tookOf(view), ...more }))
    }
    print('')
    this.#printed = undefined
    this.#spent = { model: turn.model.actual ?? '', usd: mostOf(view) }
  }

  async #tellChild(run: AtWork, state: string, at: Millis): Promise<void> {
    const { screen } = this.#around
    void this.#lookAtSpending(this.#lastOwn ?? run.id)
    const task = await this.#plans.ended(run.id)
    if (task !== undefined) return this.#print('calls', task)
    const used = [...run.used].map(([name, times]) => `${name} ${times}`).join(', ')
    const status = state === 'completed' ? 'ok' : state === 'cancelled' ? 'stopped' : state
    const who = { runId: run.id, depth: run.depth, agent: run.agent }
    this.#print('calls', callLine(screen, { ...who, what: used || 'answered', took: at - run.startedAt, status }))
  }

  /** Words and work are kept apart by a blank line. */
  #print(kind: 'words' | 'calls', text: string): void {
    if (this.#printed !== undefined && this.#printed !== kind) this.#around.print('')
    this.#printed = kind
    this.#around.print(text)
  }

  async #lookAtSpending(runId: string): Promise<void> {
    const view = await this.#around.look.run(runId).catch(() => undefined)
    if (view) this.#spent = { model: view.model.actual ?? '', usd: mostOf(view) }
  }
}

function atWork(id: string, who: { depth: number; agent: string | undefined }, startedAt: Millis): AtWork {
  return { id, ...who, startedAt, isBegun: false, signAt: startedAt, calls: new Map(), used: new Map(), waits: '' }
}

/** For how long nothing was heard, once that is worth telling. */
function silence(run: AtWork, now: Millis, hasSpoken = false): string {
  if (run.waits !== '') return run.waits
  const silent = now - run.signAt
  if (silent < silentAfter) return ''
  return `${hasSpoken ? 'silent' : 'thinks'} for ${Math.floor(silent / 1000)} s`
}

/** What a request has cost, and may still cost with the calls under way. */
function mostOf({ budget: { request } }: RunView): number {
  return request.costUsd + request.estimatedUsd + request.lostUsd + request.reservedUsd
}

function tookOf({ createdAt, finishedAt }: RunView): Millis {
  return finishedAt === null ? 0 : Date.parse(finishedAt) - Date.parse(createdAt)
}
