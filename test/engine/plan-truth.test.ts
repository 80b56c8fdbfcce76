import { afterEach, describe, expect } from 'vitest'
import { cancelPlan, cancelTask, changeTask } from '../../src/engine/plans/steer-plan.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import { gate, ModelFailure, manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type Play, planner, planningCoordinator } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })

describe.each(databases)('what people and coordinators are told of a plan on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const tasks = () => office.engine.store.read((rows) => listTasks(rows, {}))
  const plan = async () => {
    const [made] = await office.engine.store.read((rows) => listPlans(rows))
    if (!made) throw new Error('there is no plan')
    return made
  }

  /** Tries again whatever it hears has failed or was cancelled. */
  const stubborn: Play = (said, last, request) => {
    const [, task] = /task:(\d+)/.exec(last) ?? []
    if (task && /has stopped|cancelled|failed/.test(last))
      return {
        text: 'Again.',
        calls: [{ name: 'task_update', input: { id: Number(task), action: 'retry' } }, { name: 'wait' }],
      }
    if (request.messages.at(-1)?.role === 'tool')
      return { text: `Told: ${said.find((text) => text.includes('remedy')) ?? last}` }
    return planningCoordinator()(said, last, request)
  }

  test('a task that did not end well is told by how it ended and why; what its agent said last is a quotation', async () => {
    const clock = manualClock()
    const held = gate()
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner({ key: 'a', skill: 'writer' }),
        writer: (said) =>
          said.length === 1
            ? {
                text: 'The migration is finished and all tests pass.',
                calls: [{ name: 'write_file', input: { path: 'a', content: 'x' } }],
              }
            : { gate: held },
      },
      {
        clock,
        config: (config) => {
          config.agents.defaultTimeout = 60
          config.engine.leaseSeconds = 10 ** 6
        },
      },
    )
    const item = await office.say('go')
    await held.reached
    await clock.advance(61_000)
    await office.heard(item)
    const lines =
      office
        .requestsOf('coordinator')
        .at(-1)
        ?.messages.map(({ content }) => content) ?? []
    const [line] = lines.filter((text) => text.includes('task:1'))
    expect(line).toMatch(
      /^\[agent_result:\d\] task:1 "Task a" timeout: it ran for 60 s, its limit\. It last said: "The migration is finished and all tests pass\. \(last tool call: write_file, ok\)"$/,
    )
    const [result] = await office.engine.store.read((rows) => listResults(rows, { taskId: 1 }))
    expect(result?.summary).toMatch(/^Timed out: it ran for 60 s, its limit\. It last said: "The migration/)
    expect(result?.output).toMatch(
      /^Timed out: it ran for 60 s.*\n\nIts output before that:\n> The migration is finished and all tests pass\.\n> \n> \(last/,
    )
  })

  test('a task that needs long results is begun with what its window has room for, and reads on', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e', 'f']
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner(...keys.map((key) => ({ key })), { key: 'all', needs: keys, skill: 'writer' }),
        researcher: (said) => ({ text: said[0]?.startsWith('Task a') ? 'short' : 'ü'.repeat(50_000) }),
        writer: () => ({ text: 'Written.' }),
      },
      { window: 16_000 },
    )
    const answered = await office.ask('go')
    expect(answered.status).toBe('completed')
    const given = office.requestsOf('writer')[0]?.messages[0]?.content ?? ''
    // Half the window at three bytes a token; headings and pointers come on top.
    expect(Buffer.byteLength(given)).toBeLessThan(16_000 * 0.5 * 3 + 2000)
    expect(given).toContain('completed\nshort\n')
    const cuts = [...given.matchAll(/continue with read_result id=(\d+) offset=(\d+)\]/g)]
    expect(cuts).toHaveLength(5)
    expect(new Set(cuts.map(([, , offset]) => offset)).size).toBe(1)
    expect(Number(cuts[0]?.[2])).toBeGreaterThan(2000)
  })

  test('a plan that the user cancels ends the request as cancelled, and the coordinator is told why', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => ({ gate: held, text: 'never' }),
    })
    const item = await office.say('go')
    await held.reached
    await cancelPlan(office.engine, await plan(), 'changed my mind')
    const answered = await office.heard(item)
    expect(answered).toMatchObject({ ok: false, status: 'cancelled', error: { code: 'plan_cancelled' } })
    const heard =
      office
        .requestsOf('coordinator')
        .at(-1)
        ?.messages.map(({ content }) => content) ?? []
    expect(heard.find((line) => line.startsWith('plan:1'))).toMatch(
      /^plan:1 "The plan" is cancelled: the user cancelled it: changed my mind\. .*No task of it is retried unless the user asks: heddle retry task:ID\.$/,
    )
  })

  test('a task that the user cancelled is not offered to a model, and not tried again by one; the user may', async () => {
    const held = gate()
    let areJobsHeld = true
    office = await newOffice(database, {
      coordinator: stubborn,
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => (areJobsHeld ? { gate: held, text: 'never' } : { text: 'done' }),
    })
    const item = await office.say('go')
    await held.reached
    const [first] = await tasks()
    if (!first) throw new Error('there is no task')
    await cancelTask(office.engine, first, 'not this one')
    const answered = await office.heard(item)
    expect(JSON.stringify(office.requestsOf('coordinator'))).toContain(
      'task:1 is cancelled by the user; only the user can retry it',
    )
    expect(answered.text).toContain('the user cancelled task:1')
    expect(await tasks()).toMatchObject([{ status: 'cancelled', attempts: 1 }, { status: 'blocked' }])
    areJobsHeld = false
    await changeTask(office.engine, first, { action: 'retry' })
    await office.until(async (rows) => (await listTasks(rows, { status: 'completed' })).length === 2)
  })

  test('a task is tried five times at most without a person, which the model is told', async () => {
    office = await newOffice(database, {
      coordinator: stubborn,
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ fail }),
    })
    const answered = await office.ask('go')
    expect(await tasks()).toMatchObject([{ status: 'failed', attempts: 5 }])
    expect(answered).toMatchObject({ ok: false, status: 'failed', error: { code: 'plan_failed' } })
    expect(answered.error?.message).toBe('plan:1 did not complete: 1 failed')
    expect(answered.text).toContain('task:1 was tried 5 times; only the user can start another attempt')
  })

  test('whoever started agents beside a plan hears that they ended, and that the plan still runs', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last === 'and look')
          return {
            text: 'On it.',
            calls: [{ name: 'spawn_agent', input: { task: 'look', skill: 'writer' } }, { name: 'wait' }],
          }
        if (last.startsWith('all started agents') && !said.some((text) => text.includes('[plan:')))
          return { text: last }
        if (last.startsWith('all started agents') && said.includes('and look')) return { text: last }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ gate: held, text: 'done' }),
      writer: () => ({ text: 'looked' }),
    })
    const item = await office.say('go')
    await held.reached
    const beside = await office.say('and look')
    await office.until(async () =>
      office.requestsOf('coordinator').some(({ messages }) => messages.at(-1)?.content.includes('still runs')),
    )
    held.open()
    await office.heard(item)
    await office.heard(beside)
    const lines = office.requestsOf('coordinator').map(({ messages }) => messages.at(-1)?.content)
    expect(lines).toContain('all started agents have ended; their results are above; plan:1 still runs')
  })

  test('whoever speaks to a session whose plan waits for a yes hears at once what it waits for', async () => {
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner({ key: 'a' }),
        researcher: () => ({ text: 'done' }),
      },
      { config: (config) => void Object.assign(config, { plans: 'always' }) },
    )
    const first = await office.ask('go')
    expect(first).toMatchObject({ ok: false, status: 'waiting', approvals: [1] })
    const second = await office.ask('how is it going?')
    expect(second).toMatchObject({ ok: false, status: 'waiting', approvals: [1], queuedBehind: expect.any(String) })
  })
})
