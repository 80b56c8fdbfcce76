import { afterEach, describe, expect } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { changeTask } from '../../src/engine/plans/steer-plan.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { answerApproval, approvalsOf, openApprovals } from '../../src/store/rows/approvals.ts'
import { itemsOfRun } from '../../src/store/rows/inbox.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { lockSession } from '../../src/store/rows/sessions.ts'
import { editTask, listTasks } from '../../src/store/rows/tasks.ts'
import { gate, ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import {
  agentNamed,
  brief,
  newOffice,
  type Office,
  planCall,
  planner,
  planningCoordinator,
  staff,
} from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })
const never = new AbortController().signal

/** Reads what strangers wrote. */
const web: Tool = {
  name: 'web',
  description: 'reads the web',
  inputSchema: { type: 'object' },
  effect: 'pure',
  parse: (value) => ({ ok: true, value: value as object }),
  run: async () => ({ status: 'ok', output: 'words', label: { integrity: 'untrusted', sources: ['web:evil'] } }),
} as Tool

describe.each(databases)('bad days of a plan on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const tasks = () => office.engine.store.read((rows) => listTasks(rows, {}))
  const statuses = async () => Object.fromEntries((await tasks()).map(({ key, status }) => [key, status]))
  const resultOf = async (taskId: number) =>
    (await office.engine.store.read((rows) => listResults(rows, { taskId })))[0]
  const quiet = () => office.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)

  test('a task that takes too long has failed, and what it said so far is kept', async () => {
    const door = gate()
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
        researcher: (said) =>
          said.length === 1
            ? { text: 'Half of it: 42.', calls: [{ name: 'list_dir', input: { path: '.' } }] }
            : { text: 'never said', gate: door },
      },
      {
        config: ({ agents }) => {
          agents.defaultTimeout = 0.5
        },
      },
    )
    expect((await office.ask('go')).text).toContain('1 failed (task:1), 1 blocked (task:2)')
    expect(await resultOf(1)).toMatchObject({ status: 'timeout', output: expect.stringContaining('Half of it: 42.') })
  })

  test('a file that a task claims and did not write is said to the coordinator and to the next task', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'], skill: 'writer' }),
      researcher: () => ({ text: 'I wrote it.\n\nFiles:\n- report.md' }),
      writer: () => ({ text: 'Used it.' }),
    })
    await office.ask('go')
    const told = 'a claimed file does not exist: report.md'
    expect(office.requestsOf('writer')[0]?.messages[0]?.content).toContain(told)
    expect(JSON.stringify(office.requestsOf('coordinator').at(-1)?.messages)).toContain(told)
  })

  test('an agent that is gone when its task’s turn comes fails that task; one that changed does it as it is now', async () => {
    const door = gate()
    const known = new Map(staff.map((agent) => [agent.name, agent]))
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner(
        { key: 'first' },
        { key: 'gone', needs: ['first'], skill: 'coder' },
        { key: 'changed', needs: ['first'], skill: 'writer' },
      ),
      researcher: () => ({ text: 'fine', gate: door }),
      writer: () => ({ text: 'written' }),
    })
    office.engine.agents.find = (name) => known.get(name)
    const itemId = await office.say('go')
    await door.reached
    known.delete('coder')
    known.set('writer', agentNamed('writer', { body: 'NEW-BODY', tools: ['list_dir'] }))
    door.open()
    await office.heard(itemId)
    expect(await statuses()).toEqual({ first: 'completed', gone: 'failed', changed: 'completed' })
    expect((await resultOf(2))?.summary).toContain('there is no agent "coder"')
    const [request] = office.requestsOf('writer')
    expect(request?.system).toContain('NEW-BODY')
    expect(request?.tools.map(({ name }) => name)).toEqual(['list_dir', 'read_result'])
  })

  test('of two tasks that write the same file one is told who changed it', async () => {
    const [slow, fast] = [gate(), gate()]
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'fast', skill: 'writer' }, { key: 'slow', skill: 'writer' }),
      writer: (said, last) => {
        const who = said[0]?.startsWith('Task fast') ? 'fast' : 'slow'
        if (said.length === 1) return { calls: [{ name: 'read_file', input: { path: 'a.md' } }] }
        if (said.length === 3)
          return {
            calls: [{ name: 'write_file', input: { path: 'a.md', content: who } }],
            gate: who === 'fast' ? fast : slow,
          }
        return { text: last }
      },
    })
    office.put('a.md', 'before')
    const itemId = await office.say('go')
    await Promise.all([slow.reached, fast.reached])
    fast.open()
    await office.until(async (rows) => (await listTasks(rows, { status: 'completed' })).length === 1)
    slow.open()
    await office.heard(itemId)
    expect((await resultOf(1))?.output).toContain('"status":"ok"')
    expect((await resultOf(2))?.output).toMatch(/a\.md was changed by run:\w+ \(@writer\) since you read it/)
  })

  test('a planner that proposes twice is told to change what it proposed', async () => {
    let told = ''
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': (said, last) => {
        if (said.length === 1) return { calls: [planCall([{ key: 'a' }])] }
        if (said.length === 3) return { calls: [planCall([{ key: 'b' }])] }
        told ||= last
        return said.length === 5 ? { calls: [planCall([{ key: 'c' }], 1)] } : { text: 'planned' }
      },
      researcher: () => ({ text: 'fine' }),
    })
    await office.ask('go')
    expect(told).toContain('you already made plan:1')
    expect(await statuses()).toEqual({ c: 'completed' })
    expect(await office.engine.store.read((rows) => listPlans(rows))).toHaveLength(1)
  })

  test('what strangers wrote stays theirs, through a plan’s words, a brief and a decision', async () => {
    let asked = 0
    office = await newOffice(
      database,
      {
        coordinator: (said, last, request) => {
          if (last === 'look') return { calls: [{ name: 'project_status' }] }
          if (said.includes('look')) return { text: 'seen' }
          return planningCoordinator()(said, last, request)
        },
        'project-planner': (said) => {
          if (said.length === 1) return { calls: [{ name: 'web' }] }
          return said.length === 3 ? { calls: [planCall([{ key: 'a' }])] } : { text: 'planned' }
        },
        researcher: () => (++asked === 1 ? { fail } : { text: 'fine' }),
      },
      {
        agents: [...staff, agentNamed('project-planner', { tools: ['plan_tasks', 'web'] })],
        tools: [web],
      },
    )
    await office.ask('go')
    const untrusted = { integrity: 'untrusted', sources: ['web:evil'] }
    const taskRuns = async () =>
      (await office.engine.store.read((rows) => runsOf(rows, {}))).filter(({ taskId }) => taskId !== null)
    expect((await taskRuns()).map(({ label }) => label)).toMatchObject([untrusted])
    const [failed] = await tasks()
    if (failed) await changeTask(office.engine, failed, { action: 'skip' })
    await quiet()
    const [heard, status] = await office.engine.store.read(async (rows) => {
      const last = (await runsOf(rows, {})).at(-1)?.id ?? ''
      const tool = office.engine.tools.get('project_status')
      if (!tool || tool.effect === 'transactional') throw new Error('nobody can look')
      const context = { runId: last, callId: 'c', folder: office.folder, protect: nothingProtected, signal: never }
      return [await itemsOfRun(rows, last), await tool.run({}, context as never)] as const
    })
    // Whoever hears how a person ended the plan, or looks at it, hears the planner's words.
    expect(heard.map(({ label }) => label)).toEqual([untrusted])
    expect(status.label).toEqual(untrusted)
  })

  test('the words of a planner that has not ended are labelled with what it has read so far', async () => {
    const door = gate()
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': (said) => {
          if (said.length === 1) return { calls: [{ name: 'web' }] }
          return said.length === 3 ? { calls: [planCall([{ key: 'a' }])] } : { text: 'planned', gate: door }
        },
        researcher: () => ({ text: 'fine' }),
      },
      { agents: [...staff, agentNamed('project-planner', { tools: ['plan_tasks', 'web'] })], tools: [web] },
    )
    const itemId = await office.say('go')
    await door.reached
    // The planner starts when the coordinator has called it, not when the coordinator's run has ended.
    await office.until(async (rows) => (await runsOf(rows, { state: 'completed' })).length > 0)
    const [asking] = await office.engine.store.read((rows) => runsOf(rows, { state: 'completed' }))
    const tool = office.engine.tools.get('project_status')
    if (!asking || !tool || tool.effect === 'transactional') throw new Error('nobody can look')
    const context = { runId: asking.id, callId: 'c', folder: office.folder, protect: nothingProtected, signal: never }
    expect((await tool.run({}, context as never)).label).toMatchObject({ integrity: 'untrusted' })
    door.open()
    await office.heard(itemId)
  })

  test('a brief that the coordinator writes carries what the coordinator has seen', async () => {
    let asked = 0
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last === 'try again')
          return { calls: [{ name: 'task_update', input: { id: 1, action: 'retry', context: brief('new') } }] }
        if (said.includes('try again')) return { text: 'begun' }
        return planningCoordinator()(said, last, request)
      },
      'project-planner': planner({ key: 'a' }),
      researcher: () => (++asked === 1 ? { fail } : { text: 'fine' }),
    })
    await office.ask('go')
    await office.ask('try again', { trust: { integrity: 'untrusted', sources: ['mail:x'] } })
    await quiet()
    const last = (await office.engine.store.read((rows) => runsOf(rows, {}))).findLast(({ taskId }) => taskId)
    expect(last?.label).toEqual({ integrity: 'untrusted', sources: ['mail:x'] })
  })

  test('a plan that is changed between the yes and its start is not started', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ text: 'fine' }),
    })
    await office.ask('go', { attended: true })
    const [plan] = await office.engine.store.read((rows) => listPlans(rows))
    const [asking] = await office.engine.store.read((rows) => runsOf(rows, { state: 'waiting' }))
    const tool = office.engine.tools.get('run_project')
    if (!plan || !asking || tool?.effect !== 'transactional') throw new Error('nobody is asked')
    const call = { runId: asking.id, folder: office.folder, protect: nothingProtected, signal: never }
    const outcome = await office.engine.store.write('step', async (tx) => {
      await lockSession(tx, plan.sessionId)
      await answerApproval(tx, 1, { answer: 'once', reason: null, at: 1, by: 'owner' })
      await editTask(tx, 1, { context: brief('something else') })
      const [approval] = await approvalsOf(tx, asking.id)
      return tool.write(tx, { project_id: plan.id }, { ...call, callId: approval?.callId ?? '' })
    })
    expect(outcome).toMatchObject({ status: 'error' })
    expect(JSON.stringify(outcome.output)).toContain('was changed after the user approved it')
    expect(await statuses()).toEqual({ a: 'pending' })
  })

  test('an agent that can do more than was shown is not what the user approved', async () => {
    const known = new Map(staff.map((agent) => [agent.name, agent]))
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ text: 'fine' }),
    })
    office.engine.agents.find = (name) => known.get(name)
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    known.set('researcher', agentNamed('researcher', { tools: ['read_file', 'write_file'] }))
    await decide(office.engine, 1, { answer: 'once' })
    const asked = await office.until(async (rows) => (await openApprovals(rows))[0])
    expect(asked).toMatchObject({ id: 1, change: expect.stringContaining('can write_file') })
    expect(await statuses()).toEqual({ a: 'pending' })
  })
})
