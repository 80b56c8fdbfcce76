import { afterEach, describe, expect } from 'vitest'
import { cancelPlan, changeTask } from '../../src/engine/plans/steer-plan.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { listTasks, tasksOf } from '../../src/store/rows/tasks.ts'
import { gate, ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { brief, newOffice, type Office, planCall, planner, planningCoordinator } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })

describe.each(databases)('plans on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const tasks = () => office.engine.store.read((rows) => listTasks(rows, {}))
  const statuses = async () => Object.fromEntries((await tasks()).map(({ key, status }) => [key, status]))
  const plan = async () => (await office.engine.store.read((rows) => listPlans(rows)))[0]

  test('tasks run in their order, each with its brief and what came before, and one wake tells the end', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b' }, { key: 'c', needs: ['a', 'b'], skill: 'writer' }),
      researcher: (said) => ({ text: `Found by ${/Task (\w)/.exec(said[0] ?? '')?.[1]}.` }),
      writer: () => ({ text: 'Written.' }),
    })
    const { text, turns } = await office.ask('go')
    expect(text).toBe('Heard: plan:1 "The plan" completed: 3 completed')
    expect(turns).toHaveLength(3)
    expect(await statuses()).toEqual({ a: 'completed', b: 'completed', c: 'completed' })
    expect(await plan()).toMatchObject({ status: 'completed', revision: 1 })
    const [last] = office.requestsOf('writer')
    // Which of two that run side by side ends first is nobody's promise.
    const [a, b] = await tasks()
    expect(last?.messages[0]?.content).toBe(
      `Task c\n\n## Brief\n${brief('c')}\n\n## Results of the tasks before\n` +
        `### [agent_result:${a?.resultId}] @researcher "Task a" completed\nFound by a.\n\n` +
        `### [agent_result:${b?.resultId}] @researcher "Task b" completed\nFound by b.`,
    )
    const told = office
      .requestsOf('coordinator')
      .at(-1)
      ?.messages.map(({ content }) => content)
    expect(told?.filter((line) => line.startsWith('[agent_result:') && line.includes('task:'))).toHaveLength(3)
    expect(await office.engine.store.read((rows) => listResults(rows, { unprocessed: true }))).toEqual([])
  })

  test('a task that fails blocks what needs it, wakes once with the choices, and a retry with another brief finishes', async () => {
    let decided = false
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        const stopped = /1 failed \(task:(\d+)\)/.exec(last)?.[1]
        if (stopped && !decided) {
          decided = true
          const input = { id: Number(stopped), action: 'retry', context: brief('try again, the good way') }
          return { text: 'Again.', calls: [{ name: 'task_update', input }, { name: 'wait' }] }
        }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }, { key: 'c', needs: ['b'] }),
      researcher: (said) =>
        said[0]?.startsWith('Task a') && !said[0].includes('the good way') ? { fail } : { text: 'fine' },
    })
    const failing = await office.ask('go')
    expect(failing.text).toBe('Heard: plan:1 "The plan" completed: 3 completed')
    const [first] = await tasks()
    expect(first).toMatchObject({ attempts: 2, status: 'completed' })
    const results = await office.engine.store.read((rows) => listResults(rows, { taskId: first?.id ?? 0 }))
    expect(results.map(({ status }) => status)).toEqual(['completed', 'failed'])
    const wakes = office
      .requestsOf('coordinator')
      .filter((request) => /has stopped/.test(request.messages.at(-1)?.content ?? ''))
    expect(wakes.map((request) => request.messages.at(-1)?.content)).toEqual([
      'plan:1 "The plan" has stopped: 1 failed (task:1), 2 blocked (task:2, task:3). Decide with task_update: ' +
        'retry (with context or skill), skip or cancel; or ask the user.',
    ])
  })

  test('an agent that returns nothing has failed', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ text: '  \n' }),
    })
    await office.ask('go')
    expect(await statuses()).toEqual({ a: 'failed' })
    const [result] = await office.engine.store.read((rows) => listResults(rows, {}))
    expect(result?.summary).toContain('the agent ended without an answer')
  })

  test('a skipped task lets what needs it go on', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: (said) => (said[0]?.startsWith('Task a') ? { fail } : { text: 'fine' }),
    })
    await office.ask('go')
    expect(await statuses()).toEqual({ a: 'failed', b: 'blocked' })
    const [failed] = await tasks()
    if (failed) await changeTask(office.engine, failed, { action: 'skip' })
    await office.until(async (rows) => (await listPlans(rows, { status: 'completed' })).length === 1)
    expect(await statuses()).toEqual({ a: 'skipped', b: 'completed' })
    expect(office.requestsOf('researcher').at(-1)?.messages[0]?.content).toContain('### "Task a" was skipped')
  })

  test('everything that is wrong with a plan is told at once, and nothing of it is kept', async () => {
    let told = ''
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': (said, last) => {
        if (said.length === 1)
          return {
            calls: [
              planCall([
                { key: 'a', needs: ['b'] },
                { key: 'b', needs: ['a'] },
                { key: 'x', skill: 'nobody' },
                { key: 'x', needs: ['none'] },
                { key: 'e', context: ' ' },
                { key: 'l', context: 'Implement it.' },
                { key: 't', context: 'task T' },
              ]),
            ],
          }
        told ||= last
        return said.length === 3 ? { calls: [planCall([{ key: 'ok' }])] } : { text: 'planned' }
      },
      researcher: () => ({ text: 'fine' }),
    })
    await office.ask('go')
    const { problems } = JSON.parse(told) as { problems: string[] }
    expect(problems.map((problem) => problem.replace(/; there are.*/, ''))).toEqual([
      'the key "x" is used 2 times',
      'task "x": there is no agent "nobody"',
      'task "x" depends on "none", which is not in the plan',
      'task "e" has no brief: write down everything its agent needs',
      'the brief of task "l" is one line: add what was found, what is required, and how to know it is done',
      'the brief of task "t" only repeats its title: write down what its agent needs to know',
      'these tasks wait for each other: a → b → a',
    ])
    expect(await statuses()).toEqual({ ok: 'completed' })
    expect(await office.engine.store.read((rows) => listPlans(rows))).toHaveLength(1)
  })

  test('planning anew keeps what is finished and runs, replaces the rest, and leaves no edge behind', async () => {
    let stopped = false
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (/has stopped/.test(last) && !stopped) {
          stopped = true
          return {
            calls: [{ name: 'spawn_agent', input: { task: 'again', skill: 'project-planner' } }, { name: 'wait' }],
          }
        }
        if (stopped && /their results are above/.test(last))
          return { calls: [{ name: 'run_project', input: { project_id: 1 } }, { name: 'wait' }] }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': (said) => {
        if (said.length > 1) return { text: 'planned' }
        return said[0]?.includes('again')
          ? {
              calls: [
                planCall(
                  [
                    { key: 'bad', context: brief('the good way') },
                    { key: 'end', needs: ['good', 'bad'] },
                  ],
                  1,
                ),
              ],
            }
          : { calls: [planCall([{ key: 'good' }, { key: 'bad' }, { key: 'end', needs: ['good', 'bad'] }])] }
      },
      researcher: (said) =>
        said[0]?.startsWith('Task bad') && !said[0].includes('the good way') ? { fail } : { text: 'fine' },
    })
    await office.ask('go')
    expect(await plan()).toMatchObject({ status: 'completed', revision: 2 })
    const found = await tasks()
    expect(found.map(({ key, status, revision }) => [key, status, revision])).toEqual([
      ['good', 'completed', 1],
      ['bad', 'completed', 2],
      ['end', 'completed', 2],
    ])
    expect(found.at(-1)?.dependsOn).toEqual([found[0]?.id, found[1]?.id])
    expect(
      office.requestsOf('researcher').filter(({ messages }) => messages[0]?.content.startsWith('Task good')),
    ).toHaveLength(1)
  })

  test('a planner that answers prose is told once, then fails, and its words are kept', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': (_, last) => ({
        text: last.startsWith('You have not called') ? 'Still only words.' : 'First, one would…',
      }),
    })
    await office.ask('go')
    const [result] = await office.engine.store.read((rows) => listResults(rows, {}))
    expect(result?.status).toBe('failed')
    expect(result?.output).toContain('Still only words.')
    expect(result?.output).toContain('the planner answered without a plan')
    expect(office.requestsOf('project-planner')).toHaveLength(2)
  })

  test('fifty tasks that end together make one wake', async () => {
    const door = gate()
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner(...Array.from({ length: 50 }, (_, at) => ({ key: `k${at}` }))),
        researcher: () => ({ text: 'fine', gate: door }),
      },
      {
        config: (config) => {
          config.agents.maxConcurrent = 50
          config.engine.maxRunning = 60
        },
      },
    )
    const itemId = await office.say('go')
    await office.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === 50)
    door.open()
    const { text, turns } = await office.heard(itemId)
    expect(text).toBe('Heard: plan:1 "The plan" completed: 50 completed')
    expect(turns).toHaveLength(3)
  })

  test('no more tasks run at once than may, and a wide plan still ends', async () => {
    let [now, most] = [0, 0]
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner(...Array.from({ length: 9 }, (_, at) => ({ key: `k${at}` }))),
        researcher: (said) => {
          if (said.length === 1) most = Math.max(most, ++now)
          else now--
          return said.length === 1 ? { calls: [{ name: 'list_dir', input: { path: '.' } }] } : { text: 'fine' }
        },
      },
      {
        config: ({ agents }) => {
          agents.maxConcurrent = 2
        },
      },
    )
    await office.ask('go')
    expect(most).toBe(2)
  })

  test('cancelling the request stops its plan: nothing begins any more, what ran is kept', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => ({ text: 'fine', gate: door }),
    })
    const itemId = await office.say('go')
    const running = await office.until(async (rows) =>
      (await runsOf(rows, { state: 'running' })).find(({ taskId }) => taskId),
    )
    await cancel(office.engine, running.rootRunId, 'enough')
    await office.heard(itemId)
    await office.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)
    expect(await plan()).toMatchObject({ status: 'cancelled' })
    expect(await statuses()).toEqual({ a: 'cancelled', b: 'cancelled' })
    expect(office.requestsOf('researcher')).toHaveLength(1)
  })

  test('cancelling a plan stops its tasks and leaves the conversation alone', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: (said) => ({ text: 'fine', ...(said[0]?.startsWith('Task') && { gate: door }) }),
    })
    const itemId = await office.say('go')
    await office.until(async (rows) => (await runsOf(rows, { state: 'running' })).some(({ taskId }) => taskId))
    const made = await plan()
    if (made) expect(await cancelPlan(office.engine, made, 'changed my mind')).toBe('cancelled')
    await office.heard(itemId)
    expect(await statuses()).toEqual({ a: 'cancelled', b: 'cancelled' })
    expect(await office.ask('still there?', { agent: 'researcher' })).toMatchObject({ ok: true, text: 'fine' })
  })

  test('a worker that stops in the middle of a plan goes on where it was', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }, { key: 'c', needs: ['b'] }),
      researcher: () => ({ text: 'fine' }),
    })
    const itemId = await office.say('go')
    for (const key of ['a', 'b']) {
      await office.until(async (rows) =>
        (await listTasks(rows, { status: 'completed' })).some((task) => task.key === key),
      )
      await office.restart()
    }
    expect((await office.heard(itemId)).text).toBe('Heard: plan:1 "The plan" completed: 3 completed')
    expect((await tasks()).map(({ attempts }) => attempts)).toEqual([1, 1, 1])
  })

  test('with scheduling by the coordinator every completion wakes it, and it begins each task', async () => {
    office = await newOffice(
      database,
      {
        coordinator: (said, last, request) => {
          const done = /task:(\d+) "[^"]*" completed/.exec(last)?.[1]
          if (last.includes('"ready":[1]')) return { calls: [{ name: 'spawn_agent', input: { task_id: 1 } }] }
          if (last.includes('"accepted"') && said.some((text) => text.includes('"ready"'))) return { text: 'begun' }
          if (done === '1') return { calls: [{ name: 'spawn_agent', input: { task_id: 2 } }] }
          if (last.startsWith('plan:1')) return { text: `Heard: ${last}` }
          if (/\[plan:1/.test(said.join()) && !said.join().includes('"ready"'))
            return { calls: [{ name: 'run_project', input: { project_id: 1 } }] }
          return planningCoordinator()(said, last, request)
        },
        'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
        researcher: () => ({ text: 'fine' }),
      },
      {
        config: (config) => {
          config.scheduling = 'coordinator'
        },
      },
    )
    expect((await office.ask('go')).text).toBe('Heard: plan:1 "The plan" completed: 2 completed')
    expect((await tasks()).map(({ attempts }) => attempts)).toEqual([1, 1])
  })

  test('two plans at once keep to themselves', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => ({ text: 'fine' }),
    })
    const [one, two] = await Promise.all([office.ask('go'), office.ask('go', { label: 'other' })])
    expect([one.text, two.text].sort()).toEqual(
      [1, 2].map((id) => `Heard: plan:${id} "The plan" completed: 2 completed`),
    )
    for (const id of [1, 2])
      expect(await office.engine.store.read((rows) => tasksOf(rows, id))).toMatchObject([{ key: 'a' }, { key: 'b' }])
  })

  test('a plan of two hundred tasks whose root fails blocks them all in one go', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner(
        { key: 'root' },
        ...Array.from({ length: 199 }, (_, at) => ({ key: `k${at}`, needs: [at < 10 ? 'root' : `k${at - 10}`] })),
      ),
      researcher: () => ({ fail }),
    })
    const { text } = await office.ask('go')
    expect(text).toMatch(/^Heard: plan:1 "The plan" has stopped: 1 failed \(task:1\), 199 blocked \(task:2, .*…\)\./)
    expect(office.requestsOf('researcher')).toHaveLength(1)
  })

  test('a message for another agent does not take the news of a plan from whoever must decide', async () => {
    const [door, hold] = [gate(), gate()]
    office = await newOffice(database, {
      coordinator: (said, last, request) =>
        last === 'wait a moment' ? { text: 'waited', gate: hold } : planningCoordinator()(said, last, request),
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ fail, gate: door }),
      writer: (said) => ({ text: said.join('|') }),
    })
    const asked = await office.say('go')
    await office.until(async (rows) => (await runsOf(rows, { state: 'running' })).some(({ taskId }) => taskId))
    const waiting = await office.say('wait a moment')
    await office.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === 2)
    const other = await office.say('hello', { agent: 'writer' })
    door.open()
    await office.until(async (rows) => (await listPlans(rows, { status: 'failed' })).length === 1)
    hold.open()
    expect((await office.heard(other)).text).not.toContain('has stopped')
    await office.heard(waiting)
    expect((await office.heard(asked)).text).toMatch(/^Heard: plan:1 "The plan" has stopped: 1 failed/)
  })
})
