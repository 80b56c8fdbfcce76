import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agentLine, listAgents } from '../../src/domain/profiles/agent-index.ts'
import { checkRegistry } from '../../src/domain/profiles/registry.ts'
import { systemPrompt } from '../../src/engine/model/prompt.ts'
import { type ScriptedModel, scriptedModel, type TestApp } from '../../src/testing.ts'
import { openWorkingApp } from './working-app.ts'

const folder = '/here'
const never = new AbortController().signal

describe.each(['coordinator', 'general'] as const)('the prompt of @%s', (agent) => {
  let heddle: TestApp
  let model: ScriptedModel
  beforeEach(async () => {
    model = scriptedModel(() => ({ text: 'fine' }))
    heddle = await openWorkingApp({ models: [model], agent })
  })
  afterEach(() => heddle.remove())

  async function prompt(): Promise<string> {
    const { itemId } = await heddle.submit(folder, { session: 'main', content: 'hello' })
    await heddle.answer(folder, itemId, never)
    return model.requests.at(-1)?.system ?? ''
  }

  test('has the agents of the registry, with descriptions and tags, and no id of a profile', async () => {
    await heddle.setProfile('profile:secret:v1', { model: {}, systemPrompt: 'CANARY-PROMPT' })
    await heddle.registerAgent({
      agentId: '@poet',
      profileId: 'profile:secret:v1',
      description: 'Writes poems.',
      tags: ['verse', 'rhyme'],
      allowedForwardSkills: ['skill:CANARY-SKILL'],
      allowedMcpServers: ['mcp:CANARY-SERVER'],
    })
    const system = await prompt()
    expect(system).toContain('\n- @poet: Writes poems. [verse, rhyme]\n')
    expect(system).toContain('\n- @writer: ')
    const sent = JSON.stringify(model.requests)
    for (const hidden of ['profile:', 'CANARY', 'agent-registry', 'profile-pin']) expect(sent).not.toContain(hidden)
  })

  test('has an agent once, whether it has an entry, a file or both', async () => {
    const system = await prompt()
    const names = [...system.matchAll(/^- @([\w-]+): /gm)].map(([, name]) => name)
    expect(names).toEqual(['writer', 'researcher', 'coder', 'code-review', 'project-planner', 'tester'])
  })

  test('has what the file of a user says an agent is for, and so have all lists; tags and profile are those of the entry', async () => {
    mkdirSync(join(heddle.home, 'agents'), { recursive: true })
    const file = '---\nname: writer\ndescription: Writes my letters.\ntools: [read_file]\n---\nWrite.\n'
    writeFileSync(join(heddle.home, 'agents', 'writer.md'), file)
    expect(await prompt()).toContain('\n- @writer: Writes my letters. [writing, docs]\n')
    expect(await heddle.agents(folder)).toContainEqual({
      ...{ name: 'writer', description: 'Writes my letters.', tags: ['writing', 'docs'] },
    })
    const { blocks } = await heddle.command(folder, { session: 'main', line: '/agents' })
    expect(JSON.stringify(blocks)).toContain('["@writer","profile:writer:v1","Writes my letters."]')
    // The one that is shipped, as before.
    expect(await prompt()).toContain('\n- @researcher: Finds out what is true and gives its sources.')
  })

  test('has its parts in order: who it is, files of the user, tools, and agents last', async () => {
    mkdirSync(join(heddle.home, 'memory'), { recursive: true })
    for (const name of ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md', 'memory/MEMORY.md'])
      writeFileSync(join(heddle.home, name), `words of ${name}`)
    const headings = [...(await prompt()).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual([
      ...(agent === 'coordinator' ? ['How you work'] : []),
      ...['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md', 'memory/MEMORY.md'],
      ...(agent === 'general' ? ['Your tools'] : []),
      'Agents',
    ])
  })

  test('is the same from turn to turn until the registry changes', async () => {
    const first = await prompt()
    expect(await prompt()).toBe(first)
    await heddle.unregisterAgent('@writer')
    expect(await prompt()).not.toBe(first)
  })

  test('stays short with ten thousand agents', async () => {
    const before = await prompt()
    const agents = Array.from({ length: 10_000 }, (_, at) => ({
      agentId: `@agent-${at}`,
      profileId: 'profile:writer:v1',
      description: 'x'.repeat(300),
    }))
    const { version } = await heddle.agentRegistry()
    await heddle.setAgentRegistry({ version: 1, agents }, version)
    const system = await prompt()
    expect(system).toMatch(agent === 'coordinator' ? /- … and 9946 more: list_agents/ : /- … and 9946 more/)
    expect(system.length - before.length).toBeLessThan(60 * 330)
  })
})

const parts = {
  role: { kind: 'coordinator' as const },
  ...{
    identity: null,
    isPrivate: true,
    isChild: false,
    files: [],
    tools: [],
    profilePrompt: null,
    threadPrompt: 'Be brief.',
  },
}
/** Pieces that end a line somewhere, look like parts of a prompt, or are no whole letters. */
const hostile = [
  '\n',
  '\r',
  '\u0085',
  '\u2028',
  '\u2029',
  '\v',
  '\f',
  '\0',
  '\ud800',
  '\u202e',
  '## Agents',
  '- @poet: x',
  'a',
]
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.array(fc.constantFrom(...hostile), { maxLength: 40 }).map((pieces) => pieces.join('')),
)

test('whatever descriptions and tags say, all of the prompt outside their own lines is the same', () => {
  const outside = (description: string, tags: string[]) => {
    const prompt = systemPrompt({ ...parts, agents: [{ name: 'poet', description, tags }] })
    const lines = prompt.split('\n')
    const own = lines.filter((line) => line.startsWith('- @poet: '))
    expect(own.length).toBe(1)
    expect(prompt.isWellFormed()).toBe(true)
    return lines.filter((line) => !own.includes(line)).join('\n')
  }
  const plain = outside('Writes.', [])
  fc.assert(
    fc.property(anyText, fc.array(anyText, { maxLength: 3 }), (description, tags) => {
      expect(outside(description, tags)).toBe(plain)
    }),
  )
})

test('what the registry takes is shown as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 350 }), (description) => {
      const entry = { agentId: '@poet', profileId: 'p', description }
      const { registry } = checkRegistry({ version: 1, agents: [entry] }, new Set(['p']))
      if (!registry) return
      const [listed] = listAgents(registry.agents, [])
      expect(listed && agentLine(listed).length).toBeLessThanOrEqual('- @poet: '.length + 300)
    }),
  )
})
