import { afterEach, describe, expect } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import { gate, ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type Play, planner, planningCoordinator } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })
const spawn = (task: string) => ({ name: 'spawn_agent', input: { task, skill: 'researcher' } })

describe.each(databases)('sessions of agents that people talk to on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const tasks = () => office.engine.store.read((rows) => listTasks(rows, {}))
  const statuses = async () => Object.fromEntries((await tasks()).map(({ key, status }) => [key, status]))
  /** The run of an agent with this first word of its task, once it is in this state. */
  const runOf = (agent: string, state: Run['state']) =>
    office.until(async (rows) => (await runsOf(rows, { state })).find((run) => run.agent === agent))
  const labelOf = async ({ sessionId }: Run) =>
    (await office.engine.store.read((rows) => findSessions(rows, { id: sessionId ?? '' })))[0]?.label ?? ''
  const quiet = () => office.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)

  const two = planner({ key: 'a' }, { key: 'b', needs: ['a'] })

  test('a message to a task that runs is answered after it, and the task is done all the same', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': two,
      researcher: (said, last) =>
        last === 'how is it going?'
          ? { text: 'It is done.' }
          : { text: 'fine', ...(said.length === 1 && { gate: door }) },
    })
    const itemId = await office.say('go')
    const running = await runOf('researcher', 'running')
    const said = await office.say('how is it going?', { label: await labelOf(running) })
    door.open()
    expect((await office.heard(itemId)).text).toBe('Heard: plan:1 "The plan" completed: 2 completed')
    expect(await office.heard(said)).toMatchObject({ ok: true, text: 'It is done.' })
    expect((await office.engine.store.read((rows) => listResults(rows, {}))).map(({ output }) => output)).toEqual([
      'fine',
      'fine',
      'Here is the plan.',
    ])
  })

  test('a word to a task that runs reaches it at its next step', async () => {
    const door = gate()
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: (said) => {
        if (said.length === 1) return { calls: [{ name: 'list_dir', input: { path: '.' } }], gate: door }
        return { text: said.includes('be brief') ? 'brief' : 'at length' }
      },
    })
    const itemId = await office.say('go')
    const running = await runOf('researcher', 'running')
    await office.say('be brief', { kind: 'steer', label: await labelOf(running) })
    door.open()
    await office.heard(itemId)
    await quiet()
    expect((await office.engine.store.read((rows) => listResults(rows, {})))[0]?.output).toBe('brief')
    expect(await statuses()).toEqual({ a: 'completed' })
  })

  test('a message to a task that waits for its turn is part of what it answers', async () => {
    const door = gate()
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner({ key: 'a', skill: 'writer' }, { key: 'b' }),
        writer: () => ({ text: 'written', gate: door }),
        researcher: (said) => ({ text: said.join('|').includes('only the first page') ? 'one page' : 'all pages' }),
      },
      {
        config: ({ agents }) => {
          agents.maxConcurrent = 1
        },
      },
    )
    const itemId = await office.say('go')
    const queued = await runOf('researcher', 'queued')
    await office.say('only the first page', { label: await labelOf(queued) })
    door.open()
    await office.heard(itemId)
    const [result] = await office.engine.store.read((rows) => listResults(rows, { taskId: 2 }))
    expect(result).toMatchObject({ status: 'completed', output: 'one page' })
  })

  test('whoever talks to an agent after its task changes nothing about the task', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: (_, last) => (last === 'sure?' ? { fail } : { text: 'fine' }),
    })
    await office.ask('go')
    const [done] = (await office.engine.store.read((rows) => runsOf(rows, {}))).filter(({ taskId }) => taskId)
    const before = await tasks()
    expect((await office.ask('sure?', { label: done ? await labelOf(done) : '' })).ok).toBe(false)
    expect(await tasks()).toEqual(before)
    expect(await office.engine.store.read((rows) => listResults(rows, {}))).toHaveLength(2)
  })

  test('a message to an agent that was spawned keeps nobody waiting for it', async () => {
    const [door, long] = [gate(), gate()]
    office = await newOffice(database, {
      coordinator: (_, last) =>
        last === 'go' ? { text: 'On it.', calls: [spawn('look'), { name: 'wait' }] } : { text: `Told: ${last}` },
      researcher: (_, last) => (last === 'and then?' ? { text: 'later', gate: long } : { text: 'found', gate: door }),
    })
    const itemId = await office.say('go')
    const said = await office.say('and then?', { label: await labelOf(await runOf('researcher', 'running')) })
    door.open()
    // The agent still talks: what was asked of it is done.
    await long.reached
    expect((await office.heard(itemId)).text).toContain('all started agents have ended')
    long.open()
    expect((await office.heard(said)).text).toBe('later')
  })

  test('an agent that is done and talks with somebody when its parent ends counts as done', async () => {
    const [parent, long] = [gate(), gate()]
    office = await newOffice(database, {
      coordinator: (_, last) => {
        if (last === 'go') return { calls: [spawn('look')] }
        return last.includes('accepted') ? { text: 'Begun.', gate: parent } : { text: `Told: ${last}` }
      },
      researcher: (_, last) => (last === 'and then?' ? { text: 'later', gate: long } : { text: 'found' }),
    })
    const itemId = await office.say('go')
    await parent.reached
    const done = await runOf('researcher', 'completed')
    await office.say('and then?', { label: await labelOf(done) })
    await long.reached
    parent.open()
    expect((await office.heard(itemId)).text).toContain('all started agents have ended')
    long.open()
    await quiet()
  })

  test('ten agents end while the user talks: the user is answered meanwhile, and each result is told once', async () => {
    const [agents, chat] = [gate(), gate()]
    const coordinator: Play = (_, last) => {
      if (last === 'go')
        return {
          text: 'On it.',
          calls: [...Array.from({ length: 10 }, (_, at) => spawn(`part ${at}`)), { name: 'wait' }],
        }
      return { text: `Told: ${last}`, ...(last === 'hello?' && { gate: chat }) }
    }
    office = await newOffice(
      database,
      { coordinator, researcher: (said) => ({ text: `Found ${said[0]}`, gate: agents }) },
      {
        config: (config) => {
          config.agents.maxConcurrent = 10
          config.engine.maxRunning = 20
        },
      },
    )
    const asked = await office.say('go')
    await office.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === 10)
    const said = await office.say('hello?')
    await chat.reached
    agents.open()
    await office.until(async (rows) => (await listResults(rows, {})).length === 10)
    const more = await office.say('still there?')
    chat.open()
    expect((await office.heard(said)).text).toBe('Told: hello?')
    await office.heard(asked)
    await office.heard(more)
    await quiet()
    const last =
      office
        .requestsOf('coordinator')
        .at(-1)
        ?.messages.map(({ content }) => content) ?? []
    const told = last.filter((line) => line.startsWith('[agent_result:'))
    expect(new Set(told.map((line) => /part \d/.exec(line)?.[0])).size).toBe(10)
    expect(told).toHaveLength(10)
    expect(last.filter((line) => line.startsWith('all started agents'))).toHaveLength(1)
    expect(await office.engine.store.read((rows) => listResults(rows, { unprocessed: true }))).toEqual([])
  })
})
