import type { PlanLine, PlanView } from '../../api/views/plan.ts'
import type { RunLine, RunView } from '../../api/views/run.ts'
import type { TurnView } from '../../api/views/turn.ts'
import type { Clock, Millis } from '../../domain/clock.ts'
import { type Event, stepsIn } from '../../domain/event.ts'
import { shortId } from '../../domain/id.ts'
import type { Outcome } from '../../domain/run.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import { retryReason } from '../../domain/text/failure-words.ts'
import type { StreamItem } from '../../gateway/api.ts'
import { colouredNotice, remedyLine } from '../chat/talk-lines.ts'
import { lastLine } from '../pages/answer-page.ts'
import { formatUsd } from '../pages/format-spending.ts'
import { paint, printable, type Screen } from '../terminal/screen.ts'
import { callLine } from './call-line.ts'
import { PlanProgress } from './plan-progress.ts'
import { compactionLine } from './progress.ts'
import { formatSilence, type RunProgress, trackRun } from './run-progress.ts'
import { StreamedLines } from './streamed-lines.ts'

const maxMoving = 6
/** Tool with which an agent waits for others; it ends the turn. */
const waitTool = 'wait'

export interface EndedRun {
  runId: string
  state: Outcome
  took: Millis
  asked: string
}

/** Reads the details that events do not carry. */
export interface Lookups {
  turn(id: string): Promise<TurnView>
  run(id: string): Promise<RunView>
  plan(id: number): Promise<PlanView>
  plans(folder: string): Promise<PlanLine[]>
}

/** Context of a session renderer. */
interface RendererContext {
  screen: Screen
  clock: Clock
  /** Name of the requested model. */
  model(): string
  print(text: string): void
  lookup: Lookups
  /** Called when the session's own run has started. */
  onStart(runId: string): Promise<void>
  onEnd(ended: EndedRun): void
  onNeedsYou(runId: string, why: string): void
}

/** Renders the events of one session: tool calls, agents that work for it, streamed text, and answers. */
export class SessionRenderer {
  readonly #place: { session: string; folder: string }
  readonly #context: RendererContext
  readonly #stream: StreamedLines
  readonly #plans: PlanProgress
  readonly #children = new Map<string, RunProgress>()
  /** Agents by session: one that is woken by its children continues in a new run. */
  readonly #agents = new Map<string, { agent: string; depth: number }>()
  readonly #turns = new Map<string, string>()
  readonly #ended = new Set<string>()
  /** Depth of each run below the session's own. Kept after runs end: tasks of a plan start later. */
  readonly #depths = new Map<string, number>()
  #own: RunProgress | undefined
  /** The session's next run: its first event comes before the end of the current one. */
  #next: RunProgress | undefined
  #lastOwn: string | undefined
  #spent = { model: '', usd: 0 }
  #printed: 'text' | 'calls' | undefined

  constructor(place: { session: string; folder: string }, context: RendererContext) {
    this.#place = place
    this.#context = context
    this.#plans = new PlanProgress(place, context.screen, context.lookup)
    this.#stream = new StreamedLines(context.screen, (text) => this.#print('text', text))
  }

  /** Whether the session, or an agent for it, is active. */
  get isBusy(): boolean {
    return this.#own !== undefined || this.#children.size > 0 || this.#plans.isBusy
  }

  /** The run to cancel to stop everything: the session's own, or the last one whose children are still active. */
  get runId(): string | undefined {
    return this.#own?.id ?? (this.isBusy ? this.#lastOwn : undefined)
  }

  /** Whether this run is known as one of the session's own. */
  isKnown(runId: string): boolean {
    return this.#ended.has(runId) || this.#own?.id === runId || this.#next?.id === runId
  }

  /** Adds the runs that are active at the start. */
  async join(runs: RunLine[]): Promise<void> {
    const { session, folder } = this.#place
    const { clock } = this.#context
    const own = runs.find((run) => run.session === session && run.folder === folder)
    for (const { id, depth, agent, ageSeconds, waitingFor, state } of runs.filter((run) => run !== own)) {
      const child = trackRun(id, { depth, agent }, clock.now() - ageSeconds * 1000)
      child.waits = waitingFor === undefined ? '' : `waiting for ${printable(waitingFor)}`
      child.isStarted = state !== 'queued'
      this.#children.set(id, child)
      this.#depths.set(id, depth)
    }
    await this.#plans.begin()
    this.#lastOwn = own?.id ?? runs[0]?.rootRunId
    if (!own) return
    this.#own = trackRun(own.id, { depth: 0, agent: undefined }, clock.now() - own.ageSeconds * 1000)
    await this.#context.onStart(own.id)
  }

  async apply(item: StreamItem): Promise<void> {
    if (item.kind === 'event') return this.#applyEvent(item.event)
    const run = this.#own?.id === item.delta.runId ? this.#own : this.#children.get(item.delta.runId)
    if (!run) return
    run.lastAt = this.#context.clock.now()
    run.waits = ''
    if (run === this.#own) this.#stream.apply(item.delta)
  }

  /** Lines that may still change: streamed text, running calls, active agents, and the status line. */
  get moving(): string {
    const { screen, clock } = this.#context
    const now = clock.now()
    const all = [...(this.#own ? [this.#own] : []), ...this.#children.values()]
    const doing = all.flatMap((run) => this.#doing(run, now))
    const more = doing.length - maxMoving
    return [
      ...(this.#own ? [this.#stream.moving] : []),
      ...doing.slice(0, maxMoving),
      ...(more > 0 ? [paint(screen, 'dim', `and ${more} more    heddle ps`)] : []),
      paint(screen, 'dim', this.#standing(now)),
    ]
      .filter((part) => part !== '')
      .join('\n')
  }

  #doing(run: RunProgress, now: Millis): string[] {
    const { screen } = this.#context
    const who = { runId: run.id, depth: run.depth, agent: run.agent }
    const calls = [...run.calls.values()].map(({ name, about, at }) => ({ what: name, about, took: now - at }))
    if (run === this.#own) return calls.map((call) => callLine(screen, { ...who, ...call }))
    const { what, about } = calls.at(-1) ?? { what: run.isStarted ? formatSilence(run, now) || 'thinking' : 'queued' }
    const took = now - run.startedAt
    const task = this.#plans.doing(run.id, [what, about ?? ''].join(' ').trim(), took)
    return [task ?? callLine(screen, { ...who, what, about, took })]
  }

  #standing(now: Millis): string {
    if (!this.isBusy) return ''
    const [{ model, usd }, own] = [this.#spent, this.#own]
    const active = [...this.#children.values()].filter(({ isStarted }) => isStarted).length
    const agents = `${countNoun(active, 'agent')} running`
    const silent = own && own.calls.size === 0 ? formatSilence(own, now, this.#stream.hasText) : ''
    return [
      own ? `run:${shortId(own.id)}` : '',
      silent,
      this.#children.size > 0 ? agents : '',
      ...this.#plans.standing,
      own ? printable(model || this.#context.model()) : '',
      usd > 0 ? `up to ${formatUsd(usd)}` : '',
      'Ctrl-C stops',
    ]
      .filter((part) => part !== '')
      .join(' · ')
  }

  async #applyEvent(event: Event): Promise<void> {
    const { kind, subject, payload, at } = event
    const id = subject.slice(subject.indexOf(':') + 1)
    if (kind === 'turn.added') this.#applyTurn(payload)
    if (kind === 'plan.changed' || kind === 'task.changed') return this.#applyPlan(event)
    if (!kind.startsWith('run.') || this.#ended.has(id)) return
    const run = this.#known(id) ?? this.#addRun(id, payload, at)
    if (!run) return
    run.lastAt = this.#context.clock.now()
    if (kind === 'run.started') await this.#start(run, at)
    if (kind === 'run.step') for (const step of stepsIn(event)) this.#step(run, step, at)
    if (kind === 'run.waiting') this.#wait(run, payload)
    if (kind === 'run.limited') this.#limit(run, payload)
    if (kind === 'run.ended') {
      this.#turns.set(id, String(payload['turn']))
      await this.#end(run, String(payload['state']), at)
    }
  }

  #applyTurn({ run, compaction }: Event['payload']): void {
    if (compaction !== undefined && run === this.#own?.id)
      this.#tellSummary('older turns', compaction as Event['payload'])
  }

  #tellSummary(what: string, payload: Event['payload']): void {
    this.#print('calls', paint(this.#context.screen, 'dim', compactionLine(what, payload)))
  }

  async #applyPlan(event: Event): Promise<void> {
    await this.#plans.apply(event)
    const { screen } = this.#context
    if (this.#plans.isCancelled(event)) this.#print('calls', paint(screen, 'yellow', `${event.subject} is cancelled`))
    for (const { runId, skill } of this.#plans.runningTasks)
      if (runId !== undefined && !this.#ended.has(runId) && !this.#known(runId))
        this.#addChild(runId, { agent: skill, depth: 1 }, event.at)
  }

  #known(id: string): RunProgress | undefined {
    return [this.#own, this.#next].find((run) => run?.id === id) ?? this.#children.get(id)
  }

  /** Adds a run that is not known yet, if it belongs to this session. */
  #addRun(id: string, payload: Event['payload'], at: Millis): RunProgress | undefined {
    const label = String(payload['session'])
    const parentDepth = this.#depths.get(String(payload['parent'])) ?? this.#agents.get(label)?.depth
    if (label === this.#place.session && payload['folder'] === this.#place.folder) {
      const own = trackRun(id, { depth: 0, agent: undefined }, at)
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

  #addChild(id: string, who: { agent: string; depth: number }, at: Millis): RunProgress {
    const child = trackRun(id, who, at)
    this.#children.set(id, child)
    this.#depths.set(id, who.depth)
    return child
  }

  async #start(run: RunProgress, at: Millis): Promise<void> {
    run.waits = ''
    run.isStarted = true
    if (run !== this.#own) return
    run.startedAt = Math.min(run.startedAt, at)
    void this.#lookAtSpending(run.id)
    await this.#context.onStart(run.id)
  }

  #step(run: RunProgress, payload: Event['payload'], at: Millis): void {
    const { screen } = this.#context
    const call = String(payload['call'])
    const name = String(payload['name'])
    switch (payload['kind']) {
      case 'reply':
        if (run !== this.#own) return
        this.#stream.finish()
        void this.#lookAtSpending(run.id)
        return
      case 'begun':
        run.calls.set(call, { name, about: payload['about'] as string | undefined, at })
        run.used.set(name, (run.used.get(name) ?? 0) + 1)
        return
      case 'ended': {
        const begun = run.calls.get(call)
        run.calls.delete(call)
        // Calls of other agents are shown live, and summed up in one line at the end; waiting is not shown.
        if (run !== this.#own || name === waitTool) return
        const took = begun && at - begun.at
        const who = { runId: run.id, depth: 0 }
        const status = String(payload['status'])
        this.#print('calls', callLine(screen, { ...who, what: name, about: begun?.about, took, status }))
        return
      }
      case 'compact':
        this.#tellSummary('earlier steps', payload)
    }
  }

  #wait(run: RunProgress, payload: Event['payload']): void {
    const { screen, clock, onNeedsYou } = this.#context
    const why = printable(String(payload['for']))
    const tell = (text: string) => this.#print('calls', paint(screen, 'yellow', text))
    if (why === 'retry') {
      const pause = Math.max(0, Math.ceil((Number(payload['until']) - clock.now()) / 1000))
      const error = printable(retryReason(String(payload['error'] ?? '')))
      run.waits = `${error}, retrying`
      if (payload['error'] !== 'budget_in_use' || run.waited !== error)
        tell(`run:${shortId(run.id)}  ${error}, retry in ${pause} s`)
      run.waited = error
    } else {
      run.waits = `waiting for ${why}`
      // The question itself is shown below.
      if (why !== 'approval' && why !== 'budget')
        tell(`needs you: run:${shortId(run.id)} is waiting for ${why}    heddle show run:${shortId(run.id)}`)
      onNeedsYou(run.id, why)
    }
  }

  #limit({ id }: RunProgress, payload: Event['payload']): void {
    const why = printable(`${payload['why']}    ${payload['setting']}`)
    this.#print('calls', paint(this.#context.screen, 'yellow', `run:${shortId(id)}  ${why}`))
  }

  async #end(run: RunProgress, state: string, at: Millis): Promise<void> {
    this.#ended.add(run.id)
    if (run !== this.#own) {
      if (run === this.#next) this.#next = undefined
      if (!this.#children.delete(run.id)) return
      return this.#tellChild(run, state, at)
    }
    const turnId = this.#turns.get(run.id)
    const { lookup, onEnd } = this.#context
    const [view, turn] = await Promise.all([lookup.run(run.id), turnId === undefined ? undefined : lookup.turn(turnId)])
    if (turn) this.#tellAnswer(view, turn)
    this.#own = this.#next
    this.#next = undefined
    const took = tookOf(view)
    onEnd({ runId: run.id, state: state as Outcome, took, asked: view.asked })
  }

  #tellAnswer(view: RunView, turn: TurnView): void {
    const { screen, print } = this.#context
    const isDone = turn.status === 'completed'
    // The text of a run that did not complete is its error, which is printed below.
    this.#stream.finish(isDone ? turn.response.content : undefined)
    if (!isDone && view.error) {
      const word = { failed: 'failed: ', timeout: 'timed out: ', cancelled: '', completed: '' }[turn.status]
      print(colouredNotice(screen, turn.status === 'cancelled' ? 'yellow' : 'red', word + view.error.message))
      if (turn.status === 'failed') print(remedyLine(screen, view.error.remedy))
    }
    const more = {
      // While agents work for it, the request includes reservations.
      ...(this.#children.size === 0 && { request: view.budget.request }),
      ...(!isDone && { next: `heddle retry run:${shortId(view.id)}` }),
    }
    // A turn that waits for agents is not the answer yet.
    if (!isDone || !this.#own?.used.has(waitTool) || this.#children.size === 0) {
      print(lastLine(screen, { ...turn, turnId: turn.id, took: tookOf(view), ...more }))
    }
    print('')
    this.#printed = undefined
    this.#spent = { model: turn.model.actual ?? '', usd: maxOf(view) }
  }

  async #tellChild(run: RunProgress, state: string, at: Millis): Promise<void> {
    const { screen } = this.#context
    void this.#lookAtSpending(this.#lastOwn ?? run.id)
    const task = await this.#plans.ended(run.id)
    if (task !== undefined) return this.#print('calls', task)
    const used = [...run.used].map(([name, times]) => `${name} ${times}`).join(', ')
    const status = state === 'completed' ? 'ok' : state === 'cancelled' ? 'stopped' : state
    const who = { runId: run.id, depth: run.depth, agent: run.agent }
    this.#print('calls', callLine(screen, { ...who, what: used || 'answered', took: at - run.startedAt, status }))
  }

  /** Separates text and calls by a blank line. */
  #print(kind: 'text' | 'calls', text: string): void {
    if (this.#printed !== undefined && this.#printed !== kind) this.#context.print('')
    this.#printed = kind
    this.#context.print(text)
  }

  async #lookAtSpending(runId: string): Promise<void> {
    const view = await this.#context.lookup.run(runId).catch(() => undefined)
    if (view) this.#spent = { model: view.model.actual ?? '', usd: maxOf(view) }
  }
}

/** Cost of a request, including what its running calls may still cost. */
function maxOf({ budget: { request } }: RunView): number {
  return request.costUsd + request.estimatedUsd + request.lostUsd + request.reservedUsd
}

function tookOf({ createdAt, finishedAt }: RunView): Millis {
  return finishedAt === null ? 0 : Date.parse(finishedAt) - Date.parse(createdAt)
}
