import type { RunLine, RunView, TurnView } from '../domain/app.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Event } from '../domain/event.ts'
import { tail } from '../domain/id.ts'
import type { Outcome } from '../domain/run.ts'
import type { Told } from '../gateway/api.ts'
import { lastLine, money } from './answer-page.ts'
import { callLine } from './call-line.ts'
import { paint, printable, type Screen } from './screen.ts'
import { SpokenLines } from './spoken-lines.ts'
import { remedyLine } from './talk-lines.ts'

const silentAfter: Millis = 5000
const mostMoving = 6

/** Someone at work: the session's own run, or one that works for it. */
interface AtWork {
  id: string
  depth: number
  agent: string | undefined
  startedAt: Millis
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

/** What a session's telling needs of the rest. */
export interface Around {
  screen: Screen
  clock: Clock
  /** The model that is asked for. */
  model(): string
  print(text: string): void
  look: { turn(id: string): Promise<TurnView>; run(id: string): Promise<RunView> }
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
  readonly #children = new Map<string, AtWork>()
  /** Agents by their sessions: one that is woken by its own children goes on in a new run. */
  readonly #agents = new Map<string, { agent: string; depth: number }>()
  readonly #turns = new Map<string, string>()
  readonly #ended = new Set<string>()
  #own: AtWork | undefined
  /** The session's next run: it is told of before the end of the one before it. */
  #next: AtWork | undefined
  #lastOwn: string | undefined
  #spent = { model: '', usd: 0 }
  #printed: 'words' | 'calls' | undefined

  constructor(place: { session: string; folder: string }, around: Around) {
    this.#place = place
    this.#around = around
    this.#spoken = new SpokenLines(around.screen, (text) => this.#print('words', text))
  }

  /** Whether the session, or someone for it, is at work. */
  get isBusy(): boolean {
    return this.#own !== undefined || this.#children.size > 0
  }

  /** What is to be cancelled to stop all of it: the session's run, or the one whose children are still at work. */
  get runId(): string | undefined {
    return this.#own?.id ?? (this.#children.size > 0 ? this.#lastOwn : undefined)
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
    for (const { id, depth, agent, ageSeconds } of runs.filter((run) => run !== own))
      this.#children.set(id, atWork(id, { depth, agent }, clock.now() - ageSeconds * 1000))
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
    const calls = [...run.calls.values()].map(({ name, about, at }) =>
      callLine(screen, { ...who, what: name, about, took: now - at }),
    )
    if (calls.length > 0 || run === this.#own) return calls
    return [callLine(screen, { ...who, what: silence(run, now) || 'thinks', took: now - run.startedAt })]
  }

  #standing(now: Millis): string {
    if (!this.isBusy) return ''
    const { model, usd } = this.#spent
    const own = this.#own
    const agents = this.#children.size === 1 ? '1 agent at work' : `${this.#children.size} agents at work`
    const silent = own && own.calls.size === 0 ? silence(own, now, this.#spoken.hasSpoken) : ''
    return [
      own ? `run:${tail(own.id)}` : '',
      silent,
      this.#children.size > 0 ? agents : '',
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
    if (kind === 'turn.added' && payload['compaction'] !== true) this.#turns.set(String(payload['run']), id)
    if (!kind.startsWith('run.') || this.#ended.has(id)) return
    const run = this.#known(id) ?? this.#meet(id, payload, at)
    if (!run) return
    run.signAt = this.#around.clock.now()
    if (kind === 'run.started') await this.#start(run, at)
    if (kind === 'run.step') this.#step(run, payload, at)
    if (kind === 'run.waiting') this.#wait(run, payload)
    if (kind === 'run.ended') await this.#end(run, String(payload['state']), at)
  }

  #known(id: string): AtWork | undefined {
    return [this.#own, this.#next].find((run) => run?.id === id) ?? this.#children.get(id)
  }

  /** Someone of whom we hear for the first time, if they have to do with this session. */
  #meet(id: string, payload: Event['payload'], at: Millis): AtWork | undefined {
    const label = String(payload['session'])
    const parent = this.#known(String(payload['parent'])) ?? this.#agents.get(label)
    if (label === this.#place.session && payload['folder'] === this.#place.folder) {
      const own = atWork(id, { depth: 0, agent: undefined }, at)
      if (this.#own) this.#next = own
      else this.#own = own
      this.#lastOwn = id
      return own
    }
    if (!parent) return undefined
    const known = this.#agents.get(label)
    const who = known ?? { agent: String(payload['agent'] ?? 'general'), depth: parent.depth + 1 }
    this.#agents.set(label, who)
    const child = atWork(id, who, at)
    this.#children.set(id, child)
    return child
  }

  async #start(run: AtWork, at: Millis): Promise<void> {
    run.waits = ''
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
        const took = begun && at - begun.at
        const who = { runId: run.id, depth: run.depth, agent: run.agent }
        const status = String(payload['status'])
        this.#print('calls', callLine(screen, { ...who, what: name, about: begun?.about, took, status }))
        return
      }
      case 'compact':
        this.#print('calls', paint(screen, 'dim', 'what it did so far was summed up: the window was nearly full'))
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
      if (why !== 'approval') tell(`needs you: run:${tail(run.id)} waits for ${why}    heddle show run:${tail(run.id)}`)
      onNeedsYou(run.id, why)
    }
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
      ...(this.#children.size === 0 && { requestUsd: view.budget.spentUsd }),
      ...(!isDone && { next: `heddle retry run:${tail(view.id)}` }),
    }
    print(lastLine(screen, { ...turn, turnId: turn.id, took: tookOf(view), ...more }))
    print('')
    this.#printed = undefined
    this.#spent = { model: turn.model.actual ?? '', usd: view.budget.spentUsd }
  }

  #tellChild(run: AtWork, state: string, at: Millis): void {
    const { screen } = this.#around
    const used = [...run.used].map(([name, times]) => `${name} ${times}`).join(', ')
    const status = state === 'completed' ? 'ok' : state === 'cancelled' ? 'stopped' : state
    const who = { runId: run.id, depth: run.depth, agent: run.agent }
    this.#print('calls', callLine(screen, { ...who, what: used || 'answered', took: at - run.startedAt, status }))
    void this.#lookAtSpending(this.#lastOwn ?? run.id)
  }

  /** Words and work are kept apart by a blank line. */
  #print(kind: 'words' | 'calls', text: string): void {
    if (this.#printed !== undefined && this.#printed !== kind) this.#around.print('')
    this.#printed = kind
    this.#around.print(text)
  }

  async #lookAtSpending(runId: string): Promise<void> {
    const view = await this.#around.look.run(runId).catch(() => undefined)
    if (view) this.#spent = { model: view.model.actual ?? '', usd: view.budget.spentUsd }
  }
}

function atWork(id: string, who: { depth: number; agent: string | undefined }, startedAt: Millis): AtWork {
  return { id, ...who, startedAt, signAt: startedAt, calls: new Map(), used: new Map(), waits: '' }
}

/** For how long nothing was heard, once that is worth telling. */
function silence(run: AtWork, now: Millis, hasSpoken = false): string {
  if (run.waits !== '') return run.waits
  const silent = now - run.signAt
  if (silent < silentAfter) return ''
  return `${hasSpoken ? 'silent' : 'thinks'} for ${Math.round(silent / 1000)} s`
}

function tookOf({ createdAt, finishedAt }: RunView): Millis {
  return finishedAt === null ? 0 : Date.parse(finishedAt) - Date.parse(createdAt)
}
