import { performance } from 'node:perf_hooks'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { taskActions } from '../../src/domain/plan.ts'
import { Simulation } from './simulator.ts'
import { allRows, violations } from './simulator-checks.ts'
import { type Ground, newGround } from './simulator-ground.ts'
import { addSimulatedJob, disableJobs, fireSimulatedJob } from './simulator-jobs.ts'
import { jobs, tasks } from './simulator-model.ts'
import { seededChance } from './simulator-schedule.ts'

/** `HISTORIES=<number>` lives that many, however long it takes; otherwise 60, or as many as there is time for. */
const asked = process.env['HISTORIES']
const timeForAll = asked === undefined ? 12_000 : Number.POSITIVE_INFINITY
const timeForSimpler = 20_000
/** `SEED=<seed>/<path>` as a failure tells it: that history alone is seen again, and told step by step. */
const [seed, path] = process.env['SEED']?.split('/') ?? []
const sessions = ['s0', 's1', 's2']

const pick = fc.nat({ max: 40 })
const nobody = fc.constant(undefined)
const steps = fc.oneof(fc.nat({ max: 6 }), fc.nat({ max: 60 }))
const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })
const submitted = (contents: string[]) =>
  weighted(
    8,
    fc.record({
      do: fc.constant('submit' as const),
      label: fc.constantFrom(...sessions),
      content: fc.constantFrom(...contents),
      kind: fc.constantFrom('message' as const, 'message' as const, 'steer' as const, 'interrupt' as const),
      /** The processes it is said to, none for whoever hands it in past them; several are told the same thing. */
      to: fc.oneof(fc.tuple(nobody), fc.tuple(pick), fc.tuple(pick), fc.tuple(pick, nobody)),
    }),
  )
const others = [
  weighted(3, fc.record({ do: fc.constantFrom('cancel' as const, 'retry' as const), pick })),
  weighted(2, fc.record({ do: fc.constant('decide' as const), pick })),
  weighted(4, fc.record({ do: fc.constantFrom('start' as const) })),
  weighted(4, fc.record({ do: fc.constantFrom('stop' as const, 'kill' as const, 'kill' as const), pick })),
  weighted(4, fc.record({ do: fc.constant('doze' as const), pick, seconds: fc.nat({ max: 20 }), steps })),
  weighted(
    2,
    fc.record({ do: fc.constant('fail' as const), writes: fc.integer({ min: 1, max: 3 }), areDone: fc.boolean() }),
  ),
  weighted(3, fc.record({ do: fc.constant('pass' as const), seconds: fc.nat({ max: 15 }) })),
] as const
const steering = weighted(
  3,
  fc.record({
    do: fc.constant('steerPlan' as const),
    pick,
    action: fc.constantFrom(...taskActions, 'give up' as const),
  }),
)
const timed = [
  weighted(
    4,
    fc.record({
      do: fc.constant('addJob' as const),
      seconds: fc.integer({ min: 1, max: 20 }),
      content: fc.constantFrom(...tasks),
      session: fc.constantFrom(undefined, undefined, ...sessions),
      deliverTo: fc.constantFrom('webhook' as const, 'session' as const),
    }),
  ),
  weighted(3, fc.record({ do: fc.constant('fireJob' as const), pick })),
] as const
const whatHappens = fc.oneof(submitted(tasks), ...others)
const whatHappensToJobs = fc.oneof(submitted(tasks), ...others, ...timed)
const whatHappensToPlans = fc.oneof(submitted(jobs), ...others, steering)
type Arbitrated<A> = A extends fc.Arbitrary<infer T> ? T : never
type What =
  | Arbitrated<typeof whatHappens>
  | Arbitrated<typeof whatHappensToPlans>
  | Arbitrated<typeof whatHappensToJobs>
interface History {
  /** So many processes are there at the beginning. */
  begun: number
  /** Something that happens; `after` is how many things go on by themselves before the next. */
  happenings: { after: number; what: What }[]
  /** A coordinator answers, and mediocre models carry its plans out. */
  isPlanned: boolean
  /** Jobs fire, and messages are sent. */
  isTimed: boolean
  order: number
}
const historyOf = (
  what: fc.Arbitrary<What>,
  { isPlanned = false, isTimed = false }: Partial<Pick<History, 'isPlanned' | 'isTimed'>> = {},
): fc.Arbitrary<History> =>
  fc.record({
    begun: fc.nat({ max: 2 }),
    happenings: fc.array(fc.record({ after: steps, what }), { minLength: 3, maxLength: 25 }),
    isPlanned: fc.constant(isPlanned),
    isTimed: fc.constant(isTimed),
    order: fc.noShrink(fc.nat()),
  })
const history = fc.oneof(
  weighted(8, historyOf(whatHappens)),
  weighted(1, historyOf(whatHappensToPlans, { isPlanned: true })),
  weighted(1, historyOf(whatHappensToJobs, { isTimed: true })),
)

const forLong = { timeout: 10 ** 9 }

let ground: Ground
beforeAll(async () => {
  ground = await newGround()
})
afterAll(() => ground.remove())

test('whatever happens in whatever order, all is answered once and nothing is left behind', forLong, async () => {
  let until = performance.now() + timeForAll
  const property = fc.asyncProperty(history, async (each) => {
    if (performance.now() > until) return
    const { problems, passed } = await live(each)
    if (seed !== undefined) console.log(passed.join('\n'))
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })
  const again = seed === undefined ? { numRuns: Number(asked ?? 60) } : { seed: Number(seed), path: path ?? '' }
  const first = await fc.check(property, { ...again, endOnFailure: true })
  if (!first.failed) return
  if (seed !== undefined) throw first.errorInstance
  until = performance.now() + timeForSimpler
  const failure = { seed: first.seed, path: first.counterexamplePath ?? '' }
  const simpler = await fc.check(property, failure)
  const found = simpler.errorInstance ? simpler : first
  throw new Error(
    [
      `SEED=${found.seed}/${found.counterexamplePath} npm run sim`,
      `found as SEED=${failure.seed}/${failure.path} after ${first.numRuns} histories`,
      `${found.errorInstance}`,
      ...(found.counterexample?.[0].happenings.map((each) => JSON.stringify(each)) ?? []),
    ].join('\n'),
  )
})

test('the same seed gives the same history, to the last id and the last turn of every process', async () => {
  const [each] = fc.sample(history, { seed: 7, numRuns: 20 }).filter(({ happenings }) => happenings.length > 15)
  const [first, second] = [await live(each as History), await live(each as History)]
  expect(first.rows.events.length).toBeGreaterThan(20)
  expect(second).toEqual(first)
  const other = await live({ ...(each as History), order: 1 })
  expect(other.passed).not.toEqual(first.passed)
})

async function live({ begun, happenings, order, ...kind }: History) {
  const simulation = new Simulation(ground, seededChance(order), kind)
  try {
    for (let process = 0; process < begun; process++) simulation.start()
    for (const { what, after } of happenings) {
      await happen(simulation, what)
      await simulation.steps(after)
    }
    simulation.failing.writes = 0
    if (kind.isTimed) {
      await simulation.heard()
      simulation.act(disableJobs)
    }
    await simulation.quiet()
    // Results of what was cancelled wake nobody: whoever speaks next hears them.
    for (const label of sessions) simulation.submit({ label, content: 'plain' })
    await simulation.quiet()
    await simulation.end()
    const problems = await violations(simulation)
    return { problems, passed: simulation.schedule.passed, rows: await allRows(simulation) }
  } finally {
    await simulation.remove()
  }
}

async function happen(simulation: Simulation, what: What): Promise<void> {
  const { processes, schedule } = simulation
  if (what.do === 'submit') {
    const { label, content, kind } = what
    const to = what.to.map((each) => (each === undefined ? undefined : processes[each % processes.length]))
    simulation.submit({ label, content, kind }, to)
  }
  if (what.do === 'addJob') simulation.act((people) => addSimulatedJob(people, what))
  if (what.do === 'fireJob') simulation.act((people) => fireSimulatedJob(people, what.pick))
  if (what.do === 'start' && processes.length < 3) simulation.start()
  if (what.do === 'pass') schedule.pass(what.seconds * 1000)
  if (what.do === 'fail') simulation.failing = { writes: what.writes, areDone: what.areDone }
  if (what.do === 'cancel' || what.do === 'retry') {
    const runs = await simulation.runs()
    const run = runs[what.pick % runs.length]
    if (run) simulation[what.do](run)
  }
  if (what.do === 'decide') {
    const questions = await simulation.questions()
    const question = questions[what.pick % questions.length]
    if (question) simulation.decide(question.id)
  }
  if (what.do === 'steerPlan') await simulation.steerPlan(what.pick, what.action)
  if ('pick' in what) {
    const process = processes[what.pick % processes.length]
    if (process && what.do === 'stop') simulation.stop(process)
    if (process && what.do === 'kill') simulation.kill(process)
    if (process && what.do === 'doze') await simulation.doze(process, what.seconds, what.steps)
  }
}
