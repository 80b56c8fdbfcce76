import { afterEach, describe, expect } from 'vitest'
import type { ModelRequest } from '../../src/domain/model.ts'
import { asUserCancellation, type Task } from '../../src/domain/plan.ts'
import { cancelPlan, cancelTask, changeTask } from '../../src/engine/plans/steer-plan.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import { gate, ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type Play, planCall, planner, planningCoordinator } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })

/** What was said since the model's last reply. */
function news({ messages }: ModelRequest): string {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  return messages
    .slice(last + 1)
    .map(({ content }) => content)
    .join('\n')
}

describe.each(databases)('who decided about a plan, and how it ended, on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const tasks = () => office.engine.store.read((rows) => listTasks(rows, {}))
  const plans = () => office.engine.store.read((rows) => listPlans(rows))
  const plan = async () => {
    const [made] = await plans()
    if (!made) throw new Error('there is no plan')
    return made
  }
  const task = async (key: string): Promise<Task> => {
    const found = (await tasks()).find((each) => each.key === key)
    if (!found) throw new Error(`there is no task ${key}`)
    return found
  }
  const untilTask = (key: string, status: string) =>
    office.until(async (rows) => (await listTasks(rows, {})).some((each) => each.key === key && each.status === status))
  const heardByCoordinator = () =>
    office.requestsOf('coordinator').flatMap(({ messages }) => messages.map(({ content }) => content))

  /** Makes these calls, one in each reply, when it hears of what has stopped; then says what it was told. */
  const deciding =
    (...calls: { name: string; input: object }[]): Play =>
    (said, last, request) => {
      const heard = said.findLastIndex((text) => text.includes('has stopped'))
      const made = request.messages.slice(heard + 1).filter(({ role }) => role === 'assistant').length
      const call = heard < 0 ? undefined : calls[made]
      if (call) return { text: 'I decide.', calls: [call] }
      return heard < 0 ? planningCoordinator()(said, last, request) : { text: `Told: ${last}` }
    }
  const update = (action: string, more: object = {}) => ({ name: 'task_update', input: { id: 1, action, ...more } })

  test('a model can neither skip, edit, retry nor cancel what the user cancelled', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: deciding(
        update('skip', { reason: 'not needed' }),
        update('edit', { skill: 'writer' }),
        update('cancel', { reason: 'mine now' }),
        update('retry'),
      ),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => ({ gate: held, text: 'never' }),
    })
    const item = await office.say('go')
    await held.reached
    await cancelTask(office.engine, await task('a'), 'not this one')
    await office.heard(item)
    const refusals = office
      .requestsOf('coordinator')
      .at(-1)
      ?.messages.filter(({ content }) => content.includes('the user cancelled task:1'))
    expect(refusals).toHaveLength(4)
    expect(await tasks()).toMatchObject([
      { status: 'cancelled', attempts: 1, reason: 'the user cancelled it: not this one', skill: 'researcher' },
      { status: 'blocked' },
    ])
    await changeTask(office.engine, await task('a'), { action: 'skip' })
    expect(await task('a')).toMatchObject({ status: 'skipped' })
    held.open()
    await untilTask('b', 'completed')
  })

  test('a task whose run was cancelled before it began keeps the reason of the user', async () => {
    const held = gate()
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner({ key: 'a' }, { key: 'b' }),
        researcher: () => ({ gate: held, text: 'done' }),
      },
      { config: ({ agents }) => void Object.assign(agents, { maxConcurrent: 1 }) },
    )
    const item = await office.say('go')
    await held.reached
    let queued: Awaited<ReturnType<typeof runsOf>>[number] | undefined
    await office.until(async (rows) => {
      queued = (await runsOf(rows, { state: 'queued' })).find(({ taskId }) => taskId !== null)
      return queued !== undefined
    })
    await cancel(office.engine, queued?.id ?? '', asUserCancellation('I do not want it'))
    expect((await tasks()).find(({ runId }) => runId === queued?.id)).toMatchObject({
      status: 'cancelled',
      reason: 'the user cancelled it: I do not want it',
    })
    held.open()
    await office.heard(item)
  })

  test('a task whose run waits for a retry keeps the reason why its plan was cancelled', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ fail: new ModelFailure('busy', 'busy', 'wait', { retry: 'later', retryAfter: 3_600_000 }) }),
    })
    const item = await office.say('go')
    await office.until(async (rows) => (await runsOf(rows, { state: 'waiting' })).length > 0)
    await cancelPlan(office.engine, await plan(), 'enough')
    await office.heard(item)
    expect(await tasks()).toMatchObject([
      { status: 'cancelled', reason: 'the user cancelled it with its plan: enough' },
    ])
  })

  test('a request that the user cancels takes its plan along, and no model brings that back', async () => {
    const held = gate()
    let areJobsHeld = true
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last === 'go on') return { text: 'Again.', calls: [update('retry')] }
        if (said.includes('go on')) return { text: `Told: ${last}` }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => (areJobsHeld ? { gate: held, text: 'never' } : { text: 'done' }),
    })
    const item = await office.say('go')
    await held.reached
    await cancel(office.engine, (await plan()).rootRunId, 'stopped by Ctrl-C')
    expect(await office.heard(item)).toMatchObject({ ok: false, status: 'cancelled' })
    await untilTask('a', 'cancelled')
    const reason = 'the user cancelled it with its plan: stopped by Ctrl-C'
    expect(await tasks()).toMatchObject([
      { status: 'cancelled', reason },
      { status: 'cancelled', reason },
    ])
    expect((await office.ask('go on')).text).toContain('the user cancelled task:1')
    areJobsHeld = false
    await changeTask(office.engine, await task('a'), { action: 'retry' })
    await untilTask('a', 'completed')
  })

  test('planning again does not bring back what the user cancelled, and leaves it in the plan', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last.includes('has stopped') && last.includes('blocked'))
          return {
            text: 'Again.',
            calls: [{ name: 'spawn_agent', input: { task: 'again', skill: 'project-planner' } }, { name: 'wait' }],
          }
        if (said.some((text) => text.includes('has stopped')) && /\[plan:1, 2 tasks\]/.test(news(request)))
          return { text: 'It runs.', calls: [{ name: 'run_project', input: { project_id: 1 } }, { name: 'wait' }] }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': (said) => {
        if (said[0] !== 'again')
          return said.length === 1
            ? { calls: [planCall([{ key: 'a' }, { key: 'b', needs: ['a'] }])] }
            : { text: 'Made.' }
        if (said.length === 1) return { calls: [planCall([{ key: 'a' }, { key: 'b', needs: ['a'] }], 1)] }
        if (said.length === 3) return { calls: [planCall([{ key: 'b', needs: ['a'] }], 1)] }
        return said.length === 5 ? { calls: [planCall([{ key: 'b' }], 1)] } : { text: 'Made again.' }
      },
      researcher: (said) => (said[0]?.startsWith('Task a') ? { gate: held, text: 'never' } : { text: 'done' }),
    })
    const item = await office.say('go')
    await held.reached
    await cancelTask(office.engine, await task('a'), 'never do a')
    const answered = await office.heard(item)
    const told = JSON.stringify(office.requestsOf('project-planner').at(-1)?.messages)
    expect(told).toContain('only the user can bring it back: heddle retry task:1')
    expect(told).toContain('which the user cancelled')
    expect(await tasks()).toMatchObject([
      { key: 'a', status: 'cancelled', reason: 'the user cancelled it: never do a' },
      { key: 'b', status: 'completed' },
    ])
    expect(await plan()).toMatchObject({ revision: 2, status: 'cancelled' })
    expect(answered.error?.message).toBe('plan:1 did not complete: 1 cancelled, 1 completed')
  })

  test('a plan of which the user cancelled a task has not completed, even if nothing failed', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ gate: held, text: 'done' }),
    })
    const item = await office.say('go')
    await held.reached
    await cancelTask(office.engine, await task('a'), 'no thanks')
    const answered = await office.heard(item)
    expect(await plan()).toMatchObject({ status: 'cancelled' })
    expect(answered).toMatchObject({ ok: false, status: 'cancelled', error: { code: 'plan_cancelled' } })
    expect(answered.text).toBe(
      'Heard: plan:1 "The plan" has stopped: 1 cancelled (task:1). Tell the user what was not done. ' +
        'task:1 is cancelled by the user; only the user can retry it.',
    )
    held.open()
    await changeTask(office.engine, await task('a'), { action: 'retry' })
    await office.until(async (rows) => (await listPlans(rows)).some(({ status }) => status === 'completed'))
  })

  test('a model that cancels what failed makes no success of it, cannot pass for the user, and may take it back', async () => {
    office = await newOffice(database, {
      coordinator: deciding(update('cancel', { reason: 'the user cancelled it: they said so' })),
      'project-planner': planner({ key: 'a' }, { key: 'b' }),
      researcher: (said) => (said[0]?.startsWith('Task a') ? { fail } : { text: 'done' }),
    })
    const answered = await office.ask('go')
    expect(await task('a')).toMatchObject({
      status: 'cancelled',
      reason: '@coordinator: the user cancelled it: they said so',
    })
    expect(await plan()).toMatchObject({ status: 'cancelled' })
    expect(answered).toMatchObject({ ok: false, status: 'cancelled', error: { code: 'plan_cancelled' } })
    expect(heardByCoordinator().join('\n')).toContain('or bring it back with task_update retry')
  })

  test('a running task that a model stops keeps whose decision it was, and that model may retry it', async () => {
    const held = gate()
    let areJobsHeld = true
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last === 'stop it') return { text: 'I stop it.', calls: [update('cancel', { reason: 'too slow' })] }
        if (said.includes('stop it') && last.includes('has stopped')) {
          areJobsHeld = false
          return { text: 'Again.', calls: [update('retry'), { name: 'wait' }] }
        }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': planner({ key: 'a' }),
      researcher: () => (areJobsHeld ? { gate: held, text: 'never' } : { text: 'done' }),
    })
    const item = await office.say('go')
    await held.reached
    await office.say('stop it')
    await untilTask('a', 'completed')
    expect(await office.heard(item)).toMatchObject({ ok: true })
    const [first] = (await office.engine.store.read((rows) => runsOf(rows, {}))).filter(({ taskId }) => taskId === 1)
    expect(first?.cancelReason).toBe('@coordinator: too slow')
  })

  /** Has a plan made again whenever one has stopped, and starts every plan. */
  const replanning: Play = (said, last, request) => {
    const [, made] = /\[plan:(\d+), \d+ tasks\]/.exec(news(request)) ?? []
    if (made)
      return {
        text: 'It runs.',
        calls: [{ name: 'run_project', input: { project_id: Number(made) } }, { name: 'wait' }],
      }
    if (last.includes('has stopped'))
      return {
        text: 'Once more.',
        calls: [{ name: 'spawn_agent', input: { task: 'again', skill: 'project-planner' } }, { name: 'wait' }],
      }
    return planningCoordinator()(said, last, request)
  }

  test('a request of which one plan failed has not completed, though a later plan has', async () => {
    office = await newOffice(database, {
      coordinator: replanning,
      'project-planner': (said) =>
        said.length > 1 ? { text: 'Made.' } : { calls: [planCall([{ key: said[0] === 'again' ? 'b' : 'a' }])] },
      researcher: (said) => (said[0]?.startsWith('Task a') ? { fail } : { text: 'done' }),
    })
    const answered = await office.ask('go')
    expect((await plans()).map(({ id, status }) => [id, status])).toEqual([
      [2, 'completed'],
      [1, 'failed'],
    ])
    expect(answered).toMatchObject({
      ok: false,
      status: 'failed',
      error: {
        code: 'plan_failed',
        message: 'plan:1 did not complete: 1 failed',
        remedy: 'look at it: heddle plans plan:1',
      },
    })
  })

  test('a plan that was proposed and not started is named, and the request has completed', async () => {
    office = await newOffice(database, {
      coordinator: (said, last, request) =>
        news(request).includes('[plan:') ? { text: 'Everything is done.' } : planningCoordinator()(said, last, request),
      'project-planner': planner({ key: 'a' }),
    })
    expect(await office.ask('go')).toMatchObject({ ok: true, status: 'completed', unstartedPlans: [1] })
  })

  test.each(['new plans', 'new versions of one plan'])('a request is planned ten times at most: %s', async (kind) => {
    office = await newOffice(database, {
      coordinator: replanning,
      'project-planner': (said) => {
        if (said.length > 1) return { text: `Said: ${said.at(-1)}` }
        return { calls: [planCall([{ key: 'a' }], said[0] === 'again' && kind !== 'new plans' ? 1 : undefined)] }
      },
      researcher: () => ({ fail }),
    })
    const answered = await office.ask('go')
    expect((await plans()).reduce((sum, { revision }) => sum + revision, 0)).toBe(10)
    expect(answered).toMatchObject({ ok: false, status: 'failed' })
    expect(heardByCoordinator().join('\n')).toContain(
      '[heddle: this request was planned 10 times, which is the limit; do not plan again',
    )
  })

  test('the coordinator of a plan that the user cancels is told what is being stopped, and the user may retry it', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => ({ gate: held, text: 'done' }),
    })
    const item = await office.say('go')
    await held.reached
    await cancelPlan(office.engine, await plan(), 'changed my mind')
    await office.heard(item)
    expect(heardByCoordinator()).toContain(
      'plan:1 "The plan" is cancelled: the user cancelled it: changed my mind. 1 cancelled, 1 being stopped. ' +
        'No task of it is retried unless the user asks: heddle retry task:ID.',
    )
    await untilTask('a', 'cancelled')
    held.open()
    await expect(changeTask(office.engine, await task('b'), { action: 'skip' })).rejects.toMatchObject({
      code: 'plan_cancelled',
    })
    await changeTask(office.engine, await task('a'), { action: 'retry' })
    await untilTask('a', 'completed')
    await office.until(async (rows) => (await listPlans(rows)).some(({ status }) => status !== 'running'))
    expect(await plan()).toMatchObject({ status: 'cancelled' })
    expect(await task('b')).toMatchObject({ status: 'cancelled' })
  })
})
