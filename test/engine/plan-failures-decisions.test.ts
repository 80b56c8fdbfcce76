import { afterEach, describe, expect } from 'vitest'
import type { Task } from '../../src/domain/plan.ts'
import { briefHash } from '../../src/engine/plans/brief-hash.ts'
import { cancelPlan, changeTask } from '../../src/engine/plans/steer-plan.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { finishCancels } from '../../src/engine/run/cancel.ts'
import { listPlans, plansAwaitingUser } from '../../src/store/rows/plans.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { findTask, listTasks } from '../../src/store/rows/tasks.ts'
import { gate, ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { visibleEvents } from '../setup/visible-events.ts'
import { brief, newOffice, type Office, type Play, planCall, planner, planningCoordinator } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })

/** Fails the tasks of these keys, and waits at a gate before the others that have one. */
const failing =
  (keys: string[], gates: Record<string, ReturnType<typeof gate>> = {}): Play =>
  (said) => {
    const key = /^Task (\w+)/.exec(said[0] ?? '')?.[1] ?? ''
    const door = gates[key]
    return { ...(keys.includes(key) ? { fail } : { text: `fine: ${key}` }), ...(door && { gate: door }) }
  }

describe.each(databases)('deciding on bad days on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const tasks = () => office.engine.store.read((rows) => listTasks(rows, {}))
  const statuses = async () => Object.fromEntries((await tasks()).map(({ key, status }) => [key, status]))
  const plan = async () => (await office.engine.store.read((rows) => listPlans(rows)))[0]
  const runs = () => office.engine.store.read((rows) => runsOf(rows, {}))
  const task = async (key: string): Promise<Task> => {
    const found = (await tasks()).find((each) => each.key === key)
    if (!found) throw new Error(`there is no task ${key}`)
    return found
  }
  const untilTask = (key: string, status: string) =>
    office.until(async (rows) => (await listTasks(rows, {})).some((each) => each.key === key && each.status === status))
  const untilPlan = (status: string) =>
    office.until(async (rows) => (await listPlans(rows)).some((each) => each.status === status))

  test('a skipped task frees what needs it, whatever failed above it', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }, { key: 'c', needs: ['b'] }),
      researcher: failing(['a']),
    })
    await office.ask('go')
    await changeTask(office.engine, await task('b'), { action: 'skip' })
    await untilTask('c', 'completed')
    await untilPlan('failed')
    expect(await statuses()).toEqual({ a: 'failed', b: 'skipped', c: 'completed' })
  })

  test('a plan with a failed task needs the user once no run of its session can decide, until the user has', async () => {
    const heard = gate()
    const coordinator = planningCoordinator()
    office = await newOffice(database, {
      coordinator: (said, last, request) => ({
        ...coordinator(said, last, request),
        ...(last.startsWith('plan:1 "The plan" has stopped') && { gate: heard }),
      }),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: failing(['a']),
    })
    const needing = () => office.engine.store.read((rows) => plansAwaitingUser(rows))
    const itemId = await office.say('go')
    await untilPlan('failed')
    expect(await needing()).toEqual([])
    heard.open()
    await office.heard(itemId)
    expect(await needing()).toEqual([1])
    const stopped = await plan()
    if (!stopped) throw new Error('there is no plan')
    await cancelPlan(office.engine, stopped, 'enough')
    expect(await needing()).toEqual([])
  })

  /** A task that waits for one that has failed. */
  const openBehindFailed = async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: failing(['a']),
    })
    await office.ask('go')
    return task('b')
  }

  test('an edit that is refused names the task by its number', async () => {
    const b = await openBehindFailed()
    await expect(changeTask(office.engine, b, { action: 'edit', skill: 'nobody' })).rejects.toThrow(
      new RegExp(`^task:${b.id}: there is no agent "nobody"; there are: `),
    )
  })

  test('of two who change the brief that both saw one wins, and the other is told', async () => {
    const b = await openBehindFailed()
    const change = { action: 'edit' as const, expectedBrief: briefHash(b) }
    const both = await Promise.allSettled([
      changeTask(office.engine, b, { ...change, context: brief('b as one wants it') }),
      changeTask(office.engine, b, { ...change, skill: 'writer' }),
    ])
    const [winner] = both.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []))
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(both[1 - (winner ?? 0)]).toMatchObject({ reason: { code: 'changed_meanwhile' } })
    const now = await task('b')
    expect([now.context !== b.context, now.skill !== b.skill]).toEqual([winner === 0, winner === 1])
    await changeTask(office.engine, b, { ...change, expectedBrief: briefHash(now), skill: b.skill })
  })

  test('a failure holds up nothing that lies behind a skipped task', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner(
        ...[{ key: 'a' }, { key: 'b', needs: ['a'] }, { key: 'd' }, { key: 'c', needs: ['b', 'd'] }],
      ),
      researcher: failing(['a'], { d: door }),
    })
    await office.ask('go', { attended: true })
    await changeTask(office.engine, await task('b'), { action: 'skip' })
    await decide(office.engine, 1, { answer: 'once' })
    await untilTask('a', 'failed')
    door.open()
    await untilTask('c', 'completed')
  })

  test('a task that is tried again below one that failed is blocked, and its plan stops instead of waiting for ever', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }, { key: 'd' }),
      researcher: failing(['a'], { d: door }),
    })
    const itemId = await office.say('go')
    await untilTask('b', 'blocked')
    await changeTask(office.engine, await task('b'), { action: 'cancel' })
    expect(await changeTask(office.engine, await task('b'), { action: 'retry' })).toMatchObject({ status: 'blocked' })
    door.open()
    expect((await office.heard(itemId)).text).toContain(
      'has stopped: 1 failed (task:1), 1 blocked (task:2), 1 completed',
    )
  })

  test('what is decided about a plan that has ended, and changes nothing, wakes nobody', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b' }),
      researcher: failing(['b']),
    })
    await office.ask('go')
    const before = { plan: await plan(), runs: (await runs()).length }
    await changeTask(office.engine, await task('a'), { action: 'cancel' })
    await changeTask(office.engine, await task('b'), { action: 'edit', context: brief('other words') })
    expect({ plan: await plan(), runs: (await runs()).length }).toEqual(before)
  })

  test('followers hear of an edit: whoever is being asked about the plan must see what it has become', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: failing([]),
    })
    await office.ask('go', { attended: true })
    const told = async () => (await visibleEvents(office.engine.store)).filter(({ kind }) => kind === 'task.changed')
    expect(await told()).toEqual([])
    await changeTask(office.engine, await task('a'), { action: 'edit', context: brief('other words') })
    expect(await told()).toMatchObject([{ subject: 'task:1', payload: { status: 'pending' } }])
  })

  test('a task that planning left out is not decided about any more', async () => {
    office = await newOffice(database, {
      coordinator: (said, last, request) =>
        last === 'again'
          ? { calls: [{ name: 'spawn_agent', input: { task: 'again', skill: 'project-planner' } }, { name: 'wait' }] }
          : planningCoordinator()(said, last, request),
      'project-planner': (said) => {
        if (said.length > 1) return { text: 'planned' }
        return { calls: [said[0] === 'again' ? planCall([{ key: 'z' }], 1) : planCall([{ key: 'a' }])] }
      },
      researcher: failing(['a']),
    })
    await office.ask('go')
    const old = await task('a')
    await office.ask('again')
    for (const action of ['retry', 'skip', 'edit'] as const)
      await expect(changeTask(office.engine, old, { action, context: brief('x') })).rejects.toThrow('was dropped when')
    expect(await office.engine.store.read((rows) => findTask(rows, old.id))).toMatchObject({ status: 'cancelled' })
  })

  test('a task that fails while its plan is planned anew blocks what needs it, and the plan still ends', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last === 'again')
          return {
            calls: [{ name: 'spawn_agent', input: { task: 'again', skill: 'project-planner' } }, { name: 'wait' }],
          }
        if (last === 'start') return { calls: [{ name: 'run_project', input: { project_id: 1 } }] }
        if (said.includes('again')) return { text: last }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': (said) => {
        if (said.length > 1) return { text: 'planned' }
        const again = planCall([{ key: 'a' }, { key: 'c', needs: ['a'] }], 1)
        return { calls: [said[0] === 'again' ? again : planCall([{ key: 'a' }, { key: 'b', needs: ['a'] }])] }
      },
      researcher: failing(['a'], { a: door }),
    })
    await office.say('go')
    await untilTask('a', 'running')
    await office.ask('again')
    expect(await plan()).toMatchObject({ status: 'proposed', revision: 2 })
    door.open()
    await untilTask('a', 'failed')
    expect((await office.ask('start')).text).toContain('has stopped: 1 failed (task:1), 1 blocked (task:3)')
    expect(await plan()).toMatchObject({ status: 'failed' })
  })

  test('what a person tries again goes on although the run that started the plan was stopped', async () => {
    const [door, again] = [gate(), gate()]
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last.includes('"begun"')) return { text: 'I watch.', gate: door }
        if (said.includes('stop that')) return { text: last }
        const reply = planningCoordinator()(said, last, request)
        return said.some((text) => text.includes('[plan:1'))
          ? { ...reply, calls: (reply.calls ?? []).filter(({ name }) => name !== 'wait') }
          : reply
      },
      'project-planner': planner({ key: 'a' }),
      researcher: failing([], { a: again }),
    })
    await office.say('go')
    await door.reached
    await again.reached
    await office.say('stop that', { kind: 'interrupt' })
    await untilTask('a', 'cancelled')
    await changeTask(office.engine, await task('a'), { action: 'retry' })
    await finishCancels(office.engine)
    const { runId } = await task('a')
    expect(await office.engine.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({ cancelReason: null })
    again.open()
    await untilTask('a', 'completed')
    expect(await task('a')).toMatchObject({ attempts: 2 })
  })

  test('retrying a skipped task whose dependents run begins it once, and leaves them alone', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: failing([], { b: door }),
    })
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    await changeTask(office.engine, await task('a'), { action: 'skip' })
    await decide(office.engine, 1, { answer: 'once' })
    await untilTask('b', 'running')
    await changeTask(office.engine, await task('a'), { action: 'retry' })
    await untilTask('a', 'completed')
    door.open()
    expect((await office.heard(itemId)).text).toBe('Heard: plan:1 "The plan" completed: 2 completed')
    expect((await tasks()).map(({ attempts }) => attempts)).toEqual([1, 1])
  })

  test('skipping or cancelling what everything depends on, in a proposed plan, still leads to an end', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }, { key: 'c', needs: ['a'] }),
      researcher: failing([]),
    })
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    await changeTask(office.engine, await task('a'), { action: 'cancel' })
    expect(await statuses()).toEqual({ a: 'cancelled', b: 'blocked', c: 'blocked' })
    await changeTask(office.engine, await task('a'), { action: 'skip' })
    expect(await statuses()).toEqual({ a: 'skipped', b: 'pending', c: 'pending' })
    await decide(office.engine, 1, { answer: 'once' })
    expect((await office.heard(itemId)).text).toBe('Heard: plan:1 "The plan" completed: 2 completed, 1 skipped')
  })

  test('a failure that blocks very many names only some of them', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner(
        ...[{ key: 'a' }, { key: 'd' }],
        ...Array.from({ length: 60 }, (_, at) => ({ key: `k${at}`, needs: ['a'] })),
      ),
      researcher: failing(['a'], { d: door }),
    })
    await office.say('go')
    await untilTask('a', 'failed')
    const told = await office.until(async () =>
      office
        .requestsOf('coordinator')
        .map(({ messages }) => messages.at(-1)?.content ?? '')
        .find((text) => text.startsWith('plan:1: task:1')),
    )
    expect(told).toMatch(/^plan:1: task:1 failed; task:3, .*… \(60 in all\) are blocked\. Decide/)
    expect(told.length).toBeLessThan(500)
    door.open()
    await untilPlan('failed')
  })
})
