import type { Approval } from '../../src/domain/approval.ts'
import type { Millis } from '../../src/domain/clock.ts'
import { HeddleError, StorageFailure } from '../../src/domain/errors.ts'
import { idSource } from '../../src/domain/id.ts'
import type { TaskAction } from '../../src/domain/plan.ts'
import { lanes, type Run } from '../../src/domain/run.ts'
import { cancelPlan, changeTask } from '../../src/engine/plans/steer-plan.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { KnownPaths } from '../../src/engine/run/context/known-paths.ts'
import { freeSlots } from '../../src/engine/run/lanes.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { type Submission, submit } from '../../src/engine/run/submit.ts'
import { startWorker, type Worker } from '../../src/engine/run/worker/worker.ts'
import type { Engine, Limits } from '../../src/engine/runtime.ts'
import { openApprovals } from '../../src/store/rows/approvals.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import type { OwnerLocks } from '../../src/store/sqlite/owner-locks.ts'
import type { Reading, Store } from '../../src/store/store.ts'
import { folder } from './engine.ts'
import type { Ground } from './simulator-ground.ts'
import { hasOpenFires, jobSources } from './simulator-jobs.ts'
import { asking, type Outside, thinker, toolsOf } from './simulator-model.ts'
import { planLimits, withPlans } from './simulator-plans.ts'
import { type Chance, Life, type Order, Schedule } from './simulator-schedule.ts'

const maxOutputTokens = 1000

const defaultLimits = {
  maxRunning: 6,
  lanes: { main: 6, agents: 4, subagents: 4, cron: 4, background: 2 },
  maxSteps: 5,
  maxSpawnsPerTurn: 100,
  maxOutputTokens,
  perRequest: { usd: 5, tokens: 24_000 },
  perDayUsd: 1000,
}

/** Enough for everything that was asked for, and for far more sweeps than it should take. */
const patience = 30_000

/** A process of ours: it works until it is stopped or killed. */
interface Process {
  life: Life
  /** Resolves when it has begun to work. */
  begun: Promise<Worker>
  isStopping: boolean
}

/** An input that was accepted, and the steps between which that happened. */
export interface Told {
  itemId: string
  label: string
  kind: string
  from: number
  to: number
}

/** A whole world on one seed: several processes, people who ask, time, and a database that outlives them all. */
export class Simulation {
  readonly schedule: Schedule
  readonly store: Store
  readonly outside: Outside = {
    requests: [],
    effects: [],
    act: (life, runId, what) => this.#checkOwner(life, runId, what),
  }
  readonly told: Told[] = []
  /** Runs that somebody wanted to end, and when that was acknowledged, if it was. */
  readonly cancelled: { runId: string; at: Millis | undefined }[] = []
  /** What went wrong on the way, that the rows do not show. */
  readonly troubles: string[] = []
  readonly limits: Limits
  readonly #ground: Ground
  /** Messages of jobs that arrived outside, by their ids. */
  readonly arrived: number[] = []
  readonly #isPlanned: boolean
  readonly #isTimed: boolean
  readonly #chance: Chance
  readonly #newId: () => string
  readonly #held = new Map<string, Life>()
  readonly #clients = new Set<{ answered: Promise<void>; process: Process | undefined }>()
  readonly #listening = new Set<() => void>()
  readonly #people: Engine
  processes: Process[] = []
  #begun = 0
  #asked = 0
  /** So many writes fail before the next one succeeds: refused, or done without anybody hearing of it. */
  failing = { writes: 0, areDone: false }

  /** Nothing but the order and chance decide what happens. Planned: a coordinator answers, who has plans made. */
  constructor(ground: Ground, chance: Chance, options: { order?: Order; isPlanned?: boolean; isTimed?: boolean } = {}) {
    const { order = ({ length }) => chance(length), isPlanned = false, isTimed = false } = options
    this.#ground = ground
    this.#isPlanned = isPlanned
    this.#isTimed = isTimed
    this.#chance = chance
    this.store = ground.store
    this.schedule = new Schedule(order, chance)
    this.limits = { ...ground.engine.limits, ...defaultLimits, ...(isPlanned && planLimits) }
    const people = new Life(this.schedule, 'people')
    const random = { bytes: (count: number) => Uint8Array.from({ length: count }, () => chance(256)) }
    this.#newId = idSource(people.clock, random)
    this.#people = this.engineOf(people)
  }

  start(): Process {
    const life = new Life(this.schedule, `p${++this.#begun}`)
    const engine = this.engineOf(life)
    const onError = (error: unknown) => this.#trouble(life.name, error)
    const begun = startWorker(engine, {
      locks: this.locksOf(life),
      pid: this.#begun,
      onError,
      ...(this.#isTimed && {
        dueSources: jobSources(engine, { life, chance: this.#chance, arrived: this.arrived, onError }),
      }),
    })
    const process = { life, begun, isStopping: false }
    begun.catch((error) => {
      this.#trouble(life.name, error)
      this.kill(process)
    })
    this.processes.push(process)
    return process
  }

  stop(process: Process): void {
    if (process.isStopping) return
    process.isStopping = true
    const stopped = process.begun.then((worker) => worker.stop())
    stopped.then(
      () => this.#leave(process),
      (error) => {
        this.#trouble(process.life.name, error)
        this.kill(process)
      },
    )
  }

  /** All it knew is gone; what it had asked the database for may have happened or not. */
  kill(process: Process): void {
    process.life.die()
    for (const client of this.#clients) if (client.process === process) this.#clients.delete(client)
    for (const [workerId, life] of this.#held) if (life === process.life) this.#held.delete(workerId)
    this.#leave(process)
  }

  /** Stands still while time passes and others go on; it does not know, and goes on where it was. */
  async doze(process: Process, seconds: number, steps: number): Promise<void> {
    const { life } = process
    life.state = 'frozen'
    this.schedule.pass(seconds * 1000)
    await this.steps(steps)
    if (life.state === 'frozen') life.state = 'awake'
  }

  /**
   * Says something, to a process that is at work or past them all; what is delivered several times is the same thing
   * each time. Whoever speaks to a process that dies does not know whether it was heard.
   */
  submit(
    input: Pick<Submission, 'label' | 'content'> & Partial<Submission>,
    to: (Process | undefined)[] = [undefined],
  ) {
    const from = this.schedule.passed.length
    const number = ++this.#asked
    const said = { ...input, folder, content: `${input.content} #${number}` }
    const delivery = to.length === 1 ? said : { ...said, dedupeKey: `delivery-${number}` }
    for (const process of to)
      this.#ask(async (people) => {
        const worker = await process?.begun
        const { itemId } = await (worker ? worker.submit(delivery) : submit(people, delivery))
        const to = this.schedule.passed.length
        this.told.push({ itemId, label: input.label, kind: input.kind ?? 'message', from, to })
      }, process)
  }

  cancel(run: Run): void {
    const wanted: Simulation['cancelled'][number] = { runId: run.id, at: undefined }
    this.cancelled.push(wanted)
    this.#ask(async (people) => {
      await cancel(people, run.id, 'enough')
      wanted.at = people.clock.now()
    })
  }

  /** Somebody says yes or no to a call that waits, perhaps when somebody else has said so already. */
  decide(id: number): void {
    const answer = (['once', 'session', 'no'] as const)[this.#chance(3)] ?? 'no'
    this.#ask((people) => decide(people, id, { answer }))
  }

  questions(): Promise<Approval[]> {
    return this.look((rows) => openApprovals(rows))
  }

  retry(run: Run): void {
    this.#ask((people) => retry(people, run.id))
  }

  /** Somebody decides about a task of a plan, or gives a whole plan up. */
  async steerPlan(pick: number, action: TaskAction | 'give up'): Promise<void> {
    const [plans, tasks] = await this.look(async (rows) => [await listPlans(rows), await listTasks(rows, {})] as const)
    const [plan, task] = [plans[pick % plans.length], tasks[pick % tasks.length]]
    if (plan && action === 'give up') this.#ask((people) => cancelPlan(people, plan, 'enough'))
    if (task && action !== 'give up') this.#ask((people) => changeTask(people, task, { action }))
  }

  /** Somebody does something else. */
  act(question: (people: Engine) => Promise<unknown>): void {
    this.#ask(question)
  }

  /** Resolves when everybody who asked has been answered. */
  async answered(): Promise<void> {
    await Promise.all([...this.#clients].map(({ answered }) => answered))
  }

  /** Lets the world go on until everybody who asked has been answered. */
  async heard(): Promise<void> {
    for (let step = 0; step < patience && this.#clients.size > 0; step += 20) await this.steps(20)
  }

  async steps(count: number): Promise<void> {
    for (let step = 0; step < count; step++) if (!(await this.schedule.step())) return
  }

  /** What is there now, seen at once and without a turn. */
  look<T>(question: (rows: Reading) => Promise<T>): Promise<T> {
    return this.store.read(question)
  }

  runs(): Promise<Run[]> {
    return this.look((rows) => runsOf(rows, {}))
  }

  /** Lets the world go on until nothing is left to do; complains when that takes too long. */
  async quiet(): Promise<void> {
    for (let step = 0; step < patience; step += 20) {
      if (this.processes.every(({ isStopping }) => isStopping)) this.start()
      await this.steps(20)
      if (this.#clients.size > 0) continue
      const live = (await this.runs()).filter(({ finishedAt }) => finishedAt === null)
      if (live.length === 0 && !(await this.look(hasOpenFires))) return this.#checkWakes()
      // At last somebody looks at what waits for people.
      if (live.every(({ waitingFor }) => waitingFor === 'approval'))
        for (const { id } of await this.questions()) this.decide(id)
    }
    const live = (await this.runs()).filter(({ finishedAt }) => finishedAt === null)
    this.troubles.push(`not quiet: ${live.map(({ id, state }) => `${id} is ${state}`)}, ${this.#clients.size} wait`)
  }

  /** Ends every process that is left, and lets one more clear away what the dead have left. */
  async end(): Promise<void> {
    this.start()
    for (const process of this.processes) this.stop(process)
    for (let step = 0; step < patience && this.processes.length > 0; step++) await this.schedule.step()
    for (const { life } of this.processes) this.troubles.push(`${life.name} did not stop`)
  }

  async remove(): Promise<void> {
    for (const process of [...this.processes]) this.kill(process)
    for (const stop of this.#listening) stop()
    await this.#ground.clear()
  }

  /** The engine as one process has it: everything that takes a while takes a turn of its life. */
  engineOf(life: Life): Engine {
    const runtime = { store: this.#storeOf(life), clock: life.clock, newId: this.#newId }
    const tools = toolsOf(life, this.outside, { ...this.#ground.engine, ...runtime })
    const model = thinker(life, this.outside, maxOutputTokens)
    const engine: Engine = {
      ...this.#ground.engine,
      ...runtime,
      // What a process has read is gone with it.
      paths: new KnownPaths(),
      limits: this.limits,
      model: () => model,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      policy: { ask: [asking], maxSpawnDepth: 10, subagents: {}, programTools: tools.map(({ name }) => name) },
    }
    return this.#isPlanned ? withPlans(engine) : engine
  }

  #storeOf(life: Life): Store {
    const { store, schedule } = this
    return {
      ...store,
      write: async (area, body) => {
        await life.turn(`write ${area}`)
        const written = await schedule.really(() => this.#write(() => store.write(area, body)))
        await this.#checkLimits(area)
        await life.turn(`wrote ${area}`)
        if ('error' in written) throw written.error
        return written.value
      },
      // Each query by itself: a process that dies between two of them must not keep the store from closing.
      read: (body) => {
        const all: Reading['all'] = async (query) => {
          await life.turn('reads')
          return schedule.really(() => store.read((rows) => rows.all(query)))
        }
        const { dialect } = store
        return body({ dialect, build: dialect.builder, all, first: async (query) => (await all(query))[0] })
      },
      onHint: (listener) => {
        const stop = store.onHint((hint) => {
          // One in eight is lost.
          if (life.state !== 'dead' && this.#chance(8) > 0) void life.turn(`hint ${hint}`).then(() => listener(hint))
        })
        this.#listening.add(stop)
        return stop
      },
    }
  }

  async #write<T>(work: () => Promise<T>): Promise<{ value: T } | { error: unknown }> {
    if (this.failing.writes > 0) {
      this.failing.writes--
      if (this.failing.areDone) await work().catch(() => undefined)
      return { error: failure }
    }
    return work().then(
      (value) => ({ value }),
      (error) => ({ error }),
    )
  }

  async #checkLimits(area: string): Promise<void> {
    if (area !== 'claim' && area !== 'submit' && area !== 'settle' && area !== 'step') return
    const runs = await this.schedule.really(() => this.look((rows) => runsOf(rows, { state: 'running' })))
    const running = runs.map(({ lane, rootRunId }) => ({ lane, rootRunId, count: 1, suspects: 0 }))
    const crowded = lanes.filter((lane) => freeSlots(this.limits, running, lane) < 0)
    if (crowded.length > 0) this.troubles.push(`too many run at once: ${JSON.stringify(running)}`)
  }

  /** Side effects end before anybody else may have the run. */
  async #checkOwner(life: Life, runId: string, what: string): Promise<void> {
    const run = await this.schedule.really(() => this.look((rows) => findRun(rows, runId)))
    if (this.#held.get(run?.workerId ?? '') !== life)
      this.troubles.push(`${life.name} ${what} for run ${runId}, which it does not have any more`)
  }

  /** Nothing runs: whatever should have begun a run and waits, waits for ever. */
  async #checkWakes(): Promise<void> {
    const waiting = await this.look((rows) =>
      rows.all(rows.build.selectFrom('inbox').selectAll().where('wake', '=', 1).where('consumed_by_turn', 'is', null)),
    )
    for (const { id, kind } of waiting) this.troubles.push(`${kind} ${id} waits although nothing runs`)
  }

  /** Signs of life as one process shows and sees them. */
  locksOf(life: Life): OwnerLocks {
    return {
      hold: (workerId) => {
        this.#held.set(workerId, life)
        return () => this.#held.delete(workerId)
      },
      isHeld: (workerId) => this.#held.has(workerId),
      left: () => [],
    }
  }

  #ask(question: (people: Engine) => Promise<unknown>, process?: Process): void {
    const asked = question(this.#people).then(
      () => undefined,
      (error) => {
        const isAnswer = error instanceof HeddleError && answersToo.includes(error.code)
        if (!isAnswer) this.#trouble('people', error)
      },
    )
    const client = { answered: asked, process }
    this.#clients.add(client)
    void asked.then(() => this.#clients.delete(client))
  }

  #leave(process: Process): void {
    this.processes = this.processes.filter((other) => other !== process)
  }

  #trouble(who: string, error: unknown): void {
    if (error === failure) return
    this.troubles.push(`${who}: ${error instanceof Error ? error.stack : error}`)
  }
}

/** Refusals that people may meet. */
const answersToo = [
  ...['not_finished', 'nothing_to_retry', 'already_answered', 'run_ended', 'task_status', 'plan_cancelled'],
  // A retry of a sub-agent's run whose transcript is gone.
  'session_removed',
]

// As PostgreSQL's store has it.
const failure = new StorageFailure('commit_unknown', 'the connection was lost', 'look again', { retry: 'later' })
