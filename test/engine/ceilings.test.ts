import { afterEach, describe, expect, test } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import type { Persona } from '../../src/domain/persona.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { toolNames } from '../../src/domain/tools/tool-names.ts'
import { toolsOf } from '../../src/engine/model/role.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { putPersona } from '../../src/store/rows/personas.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { testTool } from './engine.ts'
import { agentNamed, newOffice, type Office, type OfficeOptions, type Play } from './test-team.ts'

describe.each(databases)('ceilings on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const writer = agentNamed('writer', { tools: ['read_file', 'write_file', 'search_files'] })
  const delegate: Play = (_, last) =>
    last.startsWith('go')
      ? { calls: [{ name: 'spawn_agent', input: { task: 'do it', skill: 'writer' } }] }
      : { text: 'ok' }
  const open = async (plays: Record<string, Play>, options: OfficeOptions = {}) => {
    office = await newOffice(database, plays, { agents: [writer], ...options })
    return office
  }
  const runOf = async (runId: string | null) =>
    (await office.engine.store.read((rows) => findRun(rows, runId ?? ''))) as Run
  const childOf = (runId: string | null) =>
    office.until(async (rows) => {
      const runs = await runsOf(rows, { rootRunId: runId ?? '' })
      return runs.find(({ depth, finishedAt }) => depth === 1 && finishedAt !== null)
    })

  test('an agent has no tool that the request of its coordinator was not given', async () => {
    await open({ coordinator: delegate, writer: () => ({ text: 'written' }) })
    const whole = await office.ask('go')
    expect((await childOf(whole.runId)).effectiveTools).toEqual([
      'read_file',
      'search_files',
      'write_file',
      'read_result',
    ])
    const tools = ['spawn_agent', 'read_file', 'read_result']
    const limited = await office.ask('go', { label: 'limited', ceiling: { tools } })
    expect((await runOf(limited.runId)).effectiveTools).toEqual(['spawn_agent', 'read_result'])
    expect(await childOf(limited.runId)).toMatchObject({ effectiveTools: ['read_file', 'read_result'] })
  })

  test('who does the work itself delegates no tool that it does not have', async () => {
    const spawn: Play = (_, last) =>
      last === 'go' ? { calls: [{ name: 'sessions_spawn', input: { task: 'do it' } }] } : { text: 'ok' }
    await open({ '?': spawn })
    const { runId } = await office.ask('go', { agent: 'general' })
    const [parent, child] = [await runOf(runId), await childOf(runId)]
    expect(parent.ceiling.tools).toContain('plan_tasks')
    expect(child.ceiling.tools).not.toContain('plan_tasks')
    expect(parent.effectiveTools).toEqual(expect.arrayContaining([...(child.ceiling.tools ?? [])]))
  })

  test('a run that is claimed again gets no tool that was forbidden at its first claim, and loses what is forbidden now', async () => {
    const hold = heldTool()
    const plays = { '?': (said: string[]) => (said.length > 1 ? { text: 'ok' } : { calls: [{ name: 'hold' }] }) }
    await open(plays, {
      tools: [hold.tool, testTool('push', 'unsafe', () => 0)],
      config: denying('exec', 'web_fetch'),
    })
    const itemId = await office.say('go', { agent: 'general' })
    await hold.reached
    office.engine.policy.deny = ['push', 'write_file']
    await office.restart()
    const { runId } = await office.heard(itemId)
    const run = await runOf(runId)
    expect(run.epoch).toBeGreaterThan(1)
    const shown = office.model.requests.map(({ tools }) => tools.map(({ name }) => name))
    const [first = [], second = []] = shown
    expect(first).toEqual(expect.arrayContaining(['push', 'write_file']))
    expect(second).toEqual(first.filter((name) => name !== 'push' && name !== 'write_file'))
    expect(run.effectiveTools).toEqual(second)
    expect(run.ceiling.tools).not.toContain('web_fetch')
  })

  test('a request that goes on with its results has no more than at its beginning; a retry has what is allowed now', async () => {
    const widen = () => {
      office.engine.policy.deny = []
      return { text: 'written' }
    }
    await open({ coordinator: delegate, writer: widen }, { config: denying('memory_store') })
    const { runId } = await office.ask('go')
    const [begun, wake] = await office.engine.store.read(async (rows) =>
      (await runsOf(rows, { rootRunId: runId ?? '' })).filter(({ depth }) => depth === 0),
    )
    expect(begun?.effectiveTools).not.toContain('memory_store')
    expect(wake?.effectiveTools).toEqual(begun?.effectiveTools)
    const again = await retry(office.engine, begun?.id ?? '')
    const tried = await office.until((rows) =>
      findRun(rows, again.runId ?? '').then((run) => (run?.finishedAt ? run : undefined)),
    )
    expect(tried).toMatchObject({ effectiveTools: expect.arrayContaining(['memory_store']) })
  })

  test('an allow list of a persona leaves its coordinator the tools that delegate, and its agents nothing else', async () => {
    const persona: Persona = {
      id: 'lotte',
      identity: { name: 'Lotte', soul: '' },
      permissions: { tools: { allow: ['read_file'], deny: ['task_update'] } },
    }
    await open({ coordinator: delegate, writer: () => ({ text: 'written' }) })
    await office.engine.store.write('append', (tx) => putPersona(tx, persona, 1))
    const { runId } = await office.ask('go', { label: 'lotte:main' })
    expect((await runOf(runId)).effectiveTools.toSorted()).toEqual([
      ...['list_agents', 'read_result', 'run_project', 'spawn_agent', 'task_list', 'wait'],
    ])
    expect((await childOf(runId)).effectiveTools).toEqual(['read_file', 'read_result'])
  })

  test('a claim reads an agent file once, and shows its model the same tools to the end', async () => {
    const looks: string[] = []
    const plays = {
      writer: (said: string[]) =>
        said.length > 1 ? { text: 'ok' } : { calls: [{ name: 'read_file', input: { path: 'a' } }] },
    }
    await open(plays)
    const { agents, tools } = office.engine
    const { find } = agents
    agents.find = (name, folder) => {
      looks.push(name)
      return find(name, folder)
    }
    office.put('a', 'text')
    const known = tools as Map<string, Tool>
    const read = known.get('read_file') as Tool
    const parse: Tool['parse'] = (input) => {
      known.set('read_file', { ...read, description: 'changed' })
      return read.parse(input)
    }
    known.set('read_file', { ...read, parse })
    await office.ask('go', { agent: 'writer' })
    const [first, second] = office.requestsOf('writer')
    expect(second?.tools).toEqual(first?.tools)
    expect(looks).toEqual(['writer'])
    await office.ask('go', { agent: 'writer', label: 'next' })
    expect(office.requestsOf('writer')[2]?.tools[0]?.description).toBe('changed')
  })
})

test('general has its list of tools and those that the program brings along, not whatever else there is', () => {
  const known = [...toolNames, 'new_tool', 'push']
  const tools = toolsOf({ kind: 'general' }, known, ['push'])
  expect(tools).toContain('push')
  for (const name of ['new_tool', 'plan_tasks', 'spawn_agent']) expect(tools).not.toContain(name)
})

function denying(...names: string[]): (config: Config) => void {
  return ({ tools }) => {
    tools.deny = names
  }
}

/** A tool whose first call lasts until its worker stops. */
function heldTool(): { tool: Tool; reached: Promise<void> } {
  const { promise: reached, resolve } = Promise.withResolvers<void>()
  let calls = 0
  const tool = testTool('hold', 'pure', async (_, signal) => {
    if (++calls > 1) return 'done'
    resolve()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  return { tool, reached }
}
