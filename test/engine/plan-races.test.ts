import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { engineOf } from '../../src/app/engine.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { WriteArea } from '../../src/domain/crash-points.ts'
import type { Task } from '../../src/domain/plan.ts'
import type { Run } from '../../src/domain/run.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { ToolOutcome } from '../../src/domain/tools/tool.ts'
import { cancelPlan, changeTask } from '../../src/engine/plans/steer-plan.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import type { ClaimedRun } from '../../src/engine/run/claimed-run.ts'
import { executeRun } from '../../src/engine/run/loop.ts'
import { lockRunSessions } from '../../src/engine/run/settlement.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { insertSteps } from '../../src/store/rows/steps.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import type { Tx } from '../../src/store/store.ts'
import { ModelFailure, type ScriptedReply, scriptedModel } from '../../src/testing.ts'
import { newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { claimNext } from './claim-next.ts'
import { folder, type TestEngine } from './engine.ts'
import { newRace, type Process, type Race } from './races.ts'
import { planCall, planningCoordinator, saidIn, staff, whoIs } from './test-team.ts'

const never = new AbortController().signal
const pool = { signal: never, leaseAtRisk: () => false, claimant: () => undefined, start: () => undefined }
const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })
/** Of another agent: that two say the same prompt makes one wait for the other, too. */
const other = { key: 'y', skill: 'writer' }
type Drafts = Parameters<typeof planCall>[0]

describe('two processes at one plan on PostgreSQL', () => {
  let runtime: TestRuntime
  let race: Race
  let a: Process
  let b: Process
  let drafts: Drafts
  let failing: string[]

  const play = (who: string, said: string[], last: string): ScriptedReply => {
    if (who === 'coordinator')
      return last === 'again'
        ? { calls: [{ name: 'spawn_agent', input: { task: 'again', skill: 'project-planner' } }, { name: 'wait' }] }
        : planningCoordinator()(said, last, undefined as never)
    if (who === 'project-planner') return said.length === 1 ? { calls: [planCall(drafts)] } : { text: 'planned' }
    return failing.some((key) => said[0]?.startsWith(`Task ${key}`)) ? { fail } : { text: 'fine' }
  }

  beforeEach(async () => {
    failing = []
    runtime = await newTestRuntime('postgres')
    const config = await loadConfig('/nowhere/none.yaml', {})
    config.agents.maxConcurrent = 10
    const model = scriptedModel((request) => {
      const said = saidIn(request)
      return play(whoIs(request), said, said.at(-1) ?? '')
    })
    const agents = { find: (name: string) => staff.find((each) => each.name === name), list: () => staff }
    const engine = engineOf(
      runtime,
      { crash: () => undefined, live: () => undefined },
      { config, models: [model], env: {}, agents },
    )
    race = await newRace({ runtime, engine } as unknown as TestEngine)
    a = race.a
    b = race.b
  })
  afterEach(async () => {
    await race.close()
    await runtime.remove()
  })

  const tasks = () => runtime.store.read((rows) => listTasks(rows, {}))
  const statuses = async () => Object.fromEntries((await tasks()).map(({ key, status }) => [key, status]))
  const plan = async () => (await runtime.store.read((rows) => listPlans(rows)))[0]
  const live = () => runtime.store.read((rows) => runsOf(rows, { live: true }))
  const runsFor = async (key: string) => {
    const { id } = await task(key)
    return (await runtime.store.read((rows) => runsOf(rows, {}))).filter(({ taskId }) => taskId === id)
  }
  const task = async (key: string): Promise<Task> => {
    const found = (await tasks()).find((each) => each.key === key)
    if (!found) throw new Error(`there is no task ${key}`)
    return found
  }
  const run = ({ engine }: Process, claimed: ClaimedRun) => executeRun(engine, claimed, pool)

  /** Works in one process until this is so. */
  const workUntil = async (isSo: () => Promise<boolean>) => {
    while (!(await isSo())) await run(a, await a.claim())
  }
  const say = (content: string) => submit(a.engine, { folder, label: 'main', content })
  /** A plan of which everything that can begin waits to be claimed. */
  const begunPlan = async (...planned: Drafts) => {
    drafts = planned
    await say('go')
    await workUntil(async () => (await plan())?.status === 'running' && (await live()).every(({ taskId }) => taskId))
  }
  const claim = async ({ engine, workerId }: Process, key: string): Promise<ClaimedRun> => {
    const { runId } = await task(key)
    const sessionId = (await live()).find(({ id }) => id === runId)?.sessionId ?? ''
    const claimed = await claimNext(engine, { workerId, sessionId })
    if (!claimed) throw new Error(`task ${key} cannot be claimed`)
    return claimed
  }

  /** Lets `first` reach its COMMIT, begins `second`, and commits when that waits. */
  const interleave = async <T>(
    first: { of: Process; area: WriteArea; work: () => Promise<unknown> },
    second: () => Promise<T>,
  ): Promise<T> => {
    const held = first.of.hold(first.area)
    const firstWork = first.work()
    await held.reached
    const secondWork = second()
    await race.waits(secondWork)
    held.open()
    await firstWork
    return secondWork
  }

  /** Makes a call of a run as the loop does: with the locks that its tool asks for. */
  const call = ({ engine }: Process, caller: Run, name: string, input: unknown): Promise<ToolOutcome> => {
    const tool = engine.tools.get(name)
    const parsed = tool?.parse(input)
    if (tool?.effect !== 'transactional' || !parsed?.ok) throw new Error(`${name} cannot be called so`)
    return engine.store.write('step', async (tx: Tx) => {
      if (tool.guarded) await lockRunSessions(tx, caller)
      const context = { runId: caller.id, callId: 'call', folder, protect: nothingProtected, signal: never }
      return tool.write(tx, parsed.value, context)
    })
  }

  test('the last two that a task needs end at once: it begins once', async () => {
    await begunPlan({ key: 'x' }, other, { key: 'z', needs: ['x', 'y'] })
    const [x, y] = [await claim(a, 'x'), await claim(b, 'y')]
    await interleave({ of: a, area: 'settle', work: () => run(a, x) }, () => run(b, y))
    expect(await statuses()).toEqual({ x: 'completed', y: 'completed', z: 'running' })
    expect(await runsFor('z')).toHaveLength(1)
  })

  test('the last two tasks of a plan end at once: it ends once, with one wake', async () => {
    await begunPlan({ key: 'x' }, other)
    const [x, y] = [await claim(a, 'x'), await claim(b, 'y')]
    await interleave({ of: a, area: 'settle', work: () => run(a, x) }, () => run(b, y))
    expect(await plan()).toMatchObject({ status: 'completed' })
    expect(await live()).toMatchObject([{ state: 'queued', agent: 'coordinator' }])
  })

  test('a plan that is cancelled while a task of it ends stops what that end began', async () => {
    await begunPlan({ key: 'x' }, { key: 'y', needs: ['x'] })
    const x = await claim(a, 'x')
    const made = await plan()
    if (!made) throw new Error('there is no plan')
    await interleave({ of: a, area: 'settle', work: () => run(a, x) }, () => cancelPlan(b.engine, made, 'enough'))
    expect(await plan()).toMatchObject({ status: 'cancelled' })
    expect(await statuses()).toEqual({ x: 'completed', y: 'cancelled' })
    // Whoever waits for it is woken, and nothing else goes on.
    expect(await live()).toMatchObject([{ state: 'queued', agent: 'coordinator', taskId: null }])
  })

  test('a task that ends while its plan is being cancelled begins nothing', async () => {
    await begunPlan({ key: 'x' }, { key: 'y', needs: ['x'] })
    const x = await claim(a, 'x')
    const made = await plan()
    if (!made) throw new Error('there is no plan')
    const cancelling = { of: b, area: 'cancel' as const, work: () => cancelPlan(b.engine, made, 'enough') }
    await interleave(cancelling, () => run(a, x))
    expect(await plan()).toMatchObject({ status: 'cancelled' })
    expect(await runsFor('y')).toEqual([])
    // Whoever waits for it is woken, and nothing else goes on.
    expect(await live()).toMatchObject([{ state: 'queued', agent: 'coordinator', taskId: null }])
  })

  const skipping = [{ key: 'x' }, { key: 'y' }, { key: 'd', needs: ['y'] }, { key: 'z', needs: ['x', 'd'] }]

  test('a task ends while another that is needed as well is skipped: what needs both begins once', async () => {
    await begunPlan(...skipping)
    const [x, d] = [await claim(a, 'x'), await task('d')]
    await interleave({ of: a, area: 'settle', work: () => run(a, x) }, () =>
      changeTask(b.engine, d, { action: 'skip' }),
    )
    expect(await runsFor('z')).toHaveLength(1)
  })

  test('a task is skipped while another that is needed as well ends: what needs both begins once', async () => {
    await begunPlan(...skipping)
    const [x, d] = [await claim(a, 'x'), await task('d')]
    await interleave({ of: b, area: 'submit', work: () => changeTask(b.engine, d, { action: 'skip' }) }, () =>
      run(a, x),
    )
    expect(await runsFor('z')).toHaveLength(1)
  })

  test.each(['the task ends first', 'the retry is first'])(
    'a failed task is tried again while the last one that runs ends: the plan goes on (%s)',
    async (order) => {
      failing = ['x']
      await begunPlan({ key: 'x' }, { key: 'y' }, { key: 'z', needs: ['x', 'y'] })
      await run(a, await claim(a, 'x'))
      const [y, x] = [await claim(a, 'y'), await task('x')]
      const ends = () => run(a, y)
      const retries = () => changeTask(b.engine, x, { action: 'retry' })
      if (order === 'the retry is first') await interleave({ of: b, area: 'submit', work: retries }, ends)
      else await interleave({ of: a, area: 'settle', work: ends }, retries)
      expect(await statuses()).toEqual({ x: 'running', y: 'completed', z: 'pending' })
      expect(await plan()).toMatchObject({ status: 'running', finishedAt: null })
    },
  )

  test('of two that start a plan at once the second is told that it runs', async () => {
    drafts = [{ key: 'x' }, { key: 'y' }]
    await say('go')
    await workUntil(async () => (await runtime.store.read((rows) => listResults(rows, {}))).length === 1)
    const { run: coordinator } = await a.claim()
    const start = (of: Process) => call(of, coordinator, 'run_project', { project_id: 1 })
    const second = await interleave({ of: a, area: 'step', work: () => start(a) }, () => start(b))
    expect(JSON.stringify(second.output)).toContain('plan:1 is already running')
    expect((await tasks()).map(({ attempts }) => attempts)).toEqual([1, 1])
  })

  test('a wait that comes before the call beside it waits for what that one begins', async () => {
    drafts = [{ key: 'x' }]
    await say('go')
    await workUntil(async () => (await runtime.store.read((rows) => listResults(rows, {}))).length === 1)
    const { run: coordinator } = await a.claim()
    expect(await call(a, coordinator, 'wait', {})).toMatchObject({ status: 'error' })
    const payload = { id: 'beside', name: 'run_project', input: { project_id: 1 }, effect: 'transactional' }
    await runtime.store.write('step', async (tx) =>
      insertSteps(tx, [{ runId: coordinator.id, seq: 1, kind: 'begun', payload, at: 0 }]),
    )
    expect(await call(a, coordinator, 'wait', {})).toMatchObject({ status: 'ok', ends: {} })
    expect(await call(a, coordinator, 'wait', { project_id: 1 })).toMatchObject({ status: 'ok', ends: {} })
  })

  test.each(['the end is first', 'the cancelling is first'])(
    'a request that is cancelled while a task of it ends stops all of it, and wakes nobody (%s)',
    async (order) => {
      await begunPlan({ key: 'x' }, { key: 'y', needs: ['x'] })
      const x = await claim(a, 'x')
      const ends = () => run(a, x)
      const cancels = () => cancel(b.engine, x.run.rootRunId, 'enough')
      if (order === 'the end is first') await interleave({ of: a, area: 'settle', work: ends }, cancels)
      else await interleave({ of: b, area: 'cancel', work: cancels }, ends)
      expect(await plan()).toMatchObject({ status: 'cancelled' })
      expect(await task('y')).toMatchObject({ status: 'cancelled' })
      expect(await live()).toEqual([])
    },
  )

  /** A planner that has been asked to plan anew, and has not said anything yet. */
  const askedAgain = async (): Promise<Run> => {
    await say('again')
    const { sessionId } = (await live()).find(({ taskId }) => taskId === null) as Run
    const coordinator = await claimNext(a.engine, { workerId: a.workerId, sessionId: sessionId ?? '' })
    if (coordinator) await run(a, coordinator)
    const { sessionId: own } = (await live()).find(({ agent }) => agent === 'project-planner') as Run
    const planner = await claimNext(b.engine, { workerId: b.workerId, sessionId: own ?? '' })
    if (!planner) throw new Error('the planner cannot be claimed')
    return planner.run
  }
  const anew = [{ key: 'x' }, { key: 'w', needs: ['x'] }]

  test('planning anew while a task ends does not leave out what that end began', async () => {
    await begunPlan({ key: 'x' }, { key: 'y', needs: ['x'] })
    const [x, planner] = [await claim(a, 'x'), await askedAgain()]
    const outcome = await interleave({ of: a, area: 'settle', work: () => run(a, x) }, () =>
      call(b, planner, 'plan_tasks', planCall(anew, 1).input),
    )
    expect(JSON.stringify(outcome.output)).toContain('is running: keep its key in the plan')
    expect(await statuses()).toEqual({ x: 'completed', y: 'running' })
  })

  test('a task that ends while its plan is planned anew begins nothing of the old plan, and the new one goes on with it', async () => {
    await begunPlan({ key: 'x' }, { key: 'y', needs: ['x'] })
    const [x, planner] = [await claim(a, 'x'), await askedAgain()]
    const planning = () => call(b, planner, 'plan_tasks', planCall(anew, 1).input)
    await interleave({ of: b, area: 'step', work: planning }, () => run(a, x))
    expect(await plan()).toMatchObject({ status: 'proposed', revision: 2 })
    expect(await statuses()).toEqual({ x: 'completed', w: 'pending' })
    expect((await live()).filter(({ taskId }) => taskId !== null)).toEqual([])
  })
})
