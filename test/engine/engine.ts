import { runMoments } from '../../src/app/moments.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { Model } from '../../src/domain/model.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Effect, Tool, ToolOutcome } from '../../src/domain/tools/tool.ts'
import type { PlacedTurn } from '../../src/domain/turn.ts'
import { KnownRegistry } from '../../src/engine/policies/run-policies.ts'
import { KnownPaths } from '../../src/engine/run/context/known-paths.ts'
import { type AcceptedInput, type Submission, submit } from '../../src/engine/run/submit.ts'
import { startWorker, type Worker, type WorkerOptions } from '../../src/engine/run/worker/worker.ts'
import type { AgentIndex, Engine, Limits } from '../../src/engine/runtime.ts'
import { routeToThread } from '../../src/engine/turns/route.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { readPath } from '../../src/store/rows/threads.ts'
import type { OwnerLocks } from '../../src/store/sqlite/owner-locks.ts'
import type { Reading, StoreContext } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing.ts'
import { type Database, newTestRuntime, type TestRuntime } from '../setup/places.ts'

export const folder = '/here'

const limits: Limits = {
  maxRunning: 4,
  lanes: { main: 4, agents: 3, subagents: 3, cron: 3, background: 2 },
  leaseMs: 10_000,
  maxSteps: 1000,
  maxSpawnsPerTurn: 1000,
  archiveAfterMs: 0,
  maxTries: 3,
  maxCrashes: 3,
  timeoutMs: 60_000,
  maxOutputTokens: 1000,
  perRequest: { usd: 5, tokens: 100_000 },
  perDayUsd: 20,
}

/** Limits that a test changes. */
export type TestLimits = Partial<Omit<Limits, 'lanes'>> & { lanes?: Partial<Limits['lanes']> }

/** Usual limits, but for those that are given. The main lane is as wide as all together. */
export function testLimits({ lanes, ...others }: TestLimits = {}): Limits {
  const all = { ...limits, ...others }
  return { ...all, lanes: { ...limits.lanes, main: all.maxRunning, ...lanes } }
}

/** A folder without agents. */
export const nobody: AgentIndex = { find: () => undefined, list: () => [] }

/** Locks that a test takes away: the owner is dead to others and does not know it. */
export function testLocks(): OwnerLocks & { kill(workerId: string): void } {
  const held = new Set<string>()
  return {
    hold(workerId) {
      held.add(workerId)
      return () => held.delete(workerId)
    },
    isHeld: (workerId) => held.has(workerId),
    left: () => [],
    kill: (workerId) => void held.delete(workerId),
  }
}

export interface TestEngine {
  engine: Engine
  runtime: TestRuntime
  locks: ReturnType<typeof testLocks>
  troubles: unknown[]
  work(options?: Partial<WorkerOptions> & { model?: Model }): Promise<Worker>
  say(content: string, more?: Partial<Submission>): Promise<AcceptedInput>
  /** The turns of a session, once there are so many. */
  turns(count: number, label?: string): Promise<PlacedTurn[]>
  /** The same where the session has another folder. */
  turnsIn(folder: string, count: number, label: string): Promise<PlacedTurn[]>
  /** Resolves when what is asked of the rows is so; asked again after each change. */
  until<T>(question: (rows: Reading) => Promise<T | undefined | false>): Promise<T>
  /** Lets time pass until a parked run has gone on. */
  pass(clock: ManualClock, runId: string | null, tries: number): Promise<void>
  remove(): Promise<void>
}

export async function newEngine(
  database: Database,
  model: Model,
  options: {
    tools?: Tool[]
    ask?: string[]
    limits?: TestLimits
    clock?: Clock
    systemPrompt?: string
    /** Told of every named point that the store passes. */
    crash?: StoreContext['crash']
  } = {},
): Promise<TestEngine> {
  const { clock, crash } = options
  const runtime = await newTestRuntime(database, { ...(clock && { clock }), ...(crash && { crash }) })
  const locks = testLocks()
  const workers: Worker[] = []
  const troubles: unknown[] = []
  const engine: Engine = {
    ...runtime,
    paths: new KnownPaths(),
    registry: new KnownRegistry(),
    moments: runMoments,
    limits: testLimits(options.limits),
    model: () => model,
    defaultModel: model.name,
    fallbacks: [],
    knowsModel: () => true,
    providers: new Map(),
    freeModels: [],
    tools: new Map((options.tools ?? []).map((tool) => [tool.name, tool])),
    prompt: async () => options.systemPrompt ?? 'You are brief.',
    promptBytes: () => 100,
    crash: () => undefined,
    live: () => undefined,
    protect: nothingProtected,
    agents: nobody,
    defaultAgent: 'general',
    scheduling: 'auto',
    memory: { recall: true, files: true },
    policy: {
      ask: options.ask ?? [],
      maxSpawnDepth: 10,
      subagents: {},
      programTools: (options.tools ?? []).map(({ name }) => name),
    },
    network: () => Promise.reject(new Error('nothing is fetched here')),
    allowedOrigins: [],
  }
  const until: TestEngine['until'] = async (question) => {
    let changed = Promise.withResolvers<void>()
    const stop = runtime.store.onHint(() => changed.resolve())
    try {
      for (;;) {
        // Changes that come while the rows are read are looked at together, by one more reading.
        changed = Promise.withResolvers()
        const answer = await runtime.store.read(question)
        if (answer !== undefined && answer !== false) return answer
        await changed.promise
      }
    } finally {
      stop()
    }
  }
  const turnsIn: TestEngine['turnsIn'] = (folder, count, label) =>
    until(async (rows) => {
      const head = await routeToThread(rows, `session:${label}`, folder).catch(() => undefined)
      const path = head ? await readPath(rows, head) : []
      return path.length >= count && path
    })
  return {
    engine,
    runtime,
    locks,
    troubles,
    until,
    async work({ model: own, ...more } = {}) {
      const worker = await startWorker(own ? { ...engine, model: () => own } : engine, {
        locks,
        pid: process.pid,
        onError: (error) => troubles.push(error),
        ...more,
      })
      workers.push(worker)
      return {
        ...worker,
        stop() {
          if (workers.includes(worker)) workers.splice(workers.indexOf(worker), 1)
          return worker.stop()
        },
      }
    },
    say(content, more) {
      const input = { folder, label: 'main', content, ...more }
      const worker = workers.at(-1)
      return worker ? worker.submit(input) : submit(engine, input)
    },
    turns: (count, label = 'main') => turnsIn(folder, count, label),
    turnsIn,
    async pass(clock, runId, tries) {
      const parked = async (rows: Reading) => {
        const run = await findRun(rows, runId ?? '')
        return run?.state === 'waiting' && run.tries === tries
      }
      await until(parked)
      while (await runtime.store.read(parked)) {
        await clock.advance(1000)
        await new Promise(setImmediate)
      }
    },
    async remove() {
      await Promise.allSettled(workers.map((worker) => worker.stop()))
      await runtime.remove()
    },
  }
}

/** A tool that does what the test says, of any effect, and remembers how often. */
export function testTool(
  name: string,
  effect: Exclude<Effect, 'transactional'>,
  act: (input: unknown, signal: AbortSignal) => Promise<unknown> | unknown,
): Tool & { calls: unknown[] } {
  const calls: unknown[] = []
  return {
    name,
    description: name,
    inputSchema: { type: 'object' },
    effect,
    calls,
    parse: (input) =>
      typeof input === 'object' && input !== null
        ? { ok: true, value: input }
        : { ok: false, why: 'it is not an object' },
    async run(input, { signal }): Promise<ToolOutcome> {
      calls.push(input)
      return { status: 'ok', output: await act(input, signal) }
    },
  }
}
