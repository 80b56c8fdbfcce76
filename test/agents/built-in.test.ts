import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agentTemplate } from '../../src/agents/agent-template.ts'
import { openAgents } from '../../src/app/agents.ts'
import { systemClock } from '../../src/system.ts'
import { read } from './place.ts'

const root = join(import.meta.dirname, '../../agents')
const files = readdirSync(root).filter((name) => name.endsWith('.md'))
const reading = ['read_file', 'list_dir', 'search_files']
const tools = {
  'code-review': [...reading, 'exec'],
  coder: [...reading, 'write_file', 'edit_file', 'exec'],
  'project-planner': [...reading, 'plan_tasks'],
  researcher: [...reading, 'web_fetch'],
  tester: [...reading, 'exec'],
  writer: [...reading, 'write_file', 'edit_file'],
}

describe('the agents that come with heddle', () => {
  const paths = { home: '/nowhere', skills: '/nowhere/skills' }
  const agents = openAgents({ paths, config: { skills: [], models: {} }, clock: systemClock }).list()

  test('are these, all ready, with just these tools', () => {
    expect(agents.map(({ name, source, status, format }) => ({ name, source, status, format }))).toEqual(
      Object.keys(tools).map((name) => ({ name, source: 'built-in', status: 'ready', format: 'heddle' })),
    )
    expect(Object.fromEntries(agents.map((agent) => [agent.name, agent.tools]))).toEqual(tools)
  })

  test.each(files)('%s says what is handed in, when to stop and what to do without facts', (name) => {
    const text = readFileSync(join(root, name), 'utf8')
    for (const heading of ['## Your answer', '## When to stop', '## When something is missing'])
      expect(text).toContain(heading)
    const lines = text.split('\n')
    expect(lines.length).toBeGreaterThanOrEqual(40)
    expect(lines.length).toBeLessThanOrEqual(150)
    expect(lines.filter((line) => line.length > 120)).toEqual([])
  })

  test('each says in one line what it is for, and when to think of it', () => {
    for (const { description, triggers } of agents) {
      expect(description.length).toBeLessThanOrEqual(63)
      expect(triggers.length).toBeGreaterThan(2)
    }
  })
})

test('a new agent is ready as it is written', () => {
  expect(read(agentTemplate('release-notes'), '/x/release-notes.md')).toMatchObject({
    name: 'release-notes',
    status: 'ready',
    format: 'heddle',
    diagnostics: [],
    extra: {},
  })
})
