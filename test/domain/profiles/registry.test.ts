import { describe, expect, test } from 'vitest'
import { checkRegistry } from '../../../src/domain/profiles/registry.ts'

const profiles = new Set(['profile:writer:v1'])
const writer = {
  agentId: '@writer',
  profileId: 'profile:writer:v1',
  description: 'Writes clear, human-sounding docs and messages. Prioritises structure and tone.',
  defaultForwardSkills: ['skill:writing_helpers'],
  allowedForwardSkills: ['skill:writing_helpers', 'skill:formatting'],
  defaultMcpServers: ['mcp:docs'],
  allowedMcpServers: ['mcp:docs', 'mcp:web'],
  tags: ['writing', 'docs'],
}
const short = { agentId: '@writer', profileId: 'profile:writer:v1', description: 'Writes.' }

const problemsIn = (value: unknown) => checkRegistry(value, profiles).problems
const pathsIn = (value: unknown) => problemsIn(value).map(({ path }) => path)
const withEntry = (change: Record<string, unknown>) => ({ version: 1, agents: [{ ...short, ...change }] })

test('a registry with every field is read as it is written', () => {
  const value = { version: 1, agents: [writer] }
  expect(checkRegistry(value, profiles)).toEqual({ registry: value, problems: [] })
})

test('lists that are left out are empty', () => {
  expect(checkRegistry({ version: 1, agents: [short] }, profiles).registry?.agents).toEqual([
    {
      ...short,
      defaultForwardSkills: [],
      allowedForwardSkills: [],
      defaultMcpServers: [],
      allowedMcpServers: [],
      tags: [],
    },
  ])
})

test('every problem is told at once, with its path', () => {
  const value = {
    agents: [
      { ...short, agentId: 'writer', description: 'x'.repeat(301), tags: 'docs' },
      { ...short, profileId: 'profile:none', colour: 'red' },
      short,
    ],
  }
  expect(problemsIn(value)).toEqual([
    { path: 'version', message: 'must be 1' },
    { path: 'agents[0].agentId', message: expect.stringContaining('such as @writer') },
    { path: 'agents[0].description', message: 'must have at most 300 characters' },
    { path: 'agents[0].tags', message: expect.stringContaining('expected array') },
    { path: 'agents[1]', message: 'has no such field: "colour"' },
    { path: 'agents[1].profileId', message: 'is not an existing profile' },
    { path: 'agents[2].agentId', message: 'is the same as agents[1].agentId' },
  ])
})

test.each([
  [null],
  [undefined],
  [[]],
  ['text'],
  [7],
  [{}],
  [{ version: 1 }],
  [{ version: 1, agents: {} }],
  [{ version: 1, agents: [null, 3] }],
])('what is no registry (%j) is refused with a problem and never throws', (value) => {
  expect(problemsIn(value).length).toBeGreaterThan(0)
})

describe('an agentId', () => {
  test.each(['@ab', '@writer', '@a_b-9', `@${'x'.repeat(32)}`])('can be %s', (agentId) => {
    expect(problemsIn(withEntry({ agentId }))).toEqual([])
  })

  test.each([
    '@a',
    'writer',
    '@Writer',
    '@wri ter',
    `@${'x'.repeat(33)}`,
    '@wrîter',
    '@writer\n',
    '',
    7,
    '@general',
    '@coordinator',
    '@narrator',
  ])('cannot be %j', (agentId) => {
    expect(pathsIn(withEntry({ agentId }))).toEqual(['agents[0].agentId'])
  })
})

describe('a description', () => {
  test('has 300 characters at most, after its letters are normalised', () => {
    expect(problemsIn(withEntry({ description: 'x'.repeat(300) }))).toEqual([])
    // One letter that stands for eighteen.
    expect(pathsIn(withEntry({ description: '\ufdfa'.repeat(20) }))).toEqual(['agents[0].description'])
  })

  test.each([
    ['a line break', 'a\nb'],
    ['a carriage return', 'a\rb'],
    ['a line separator', 'a\u2028b'],
    ['a mark that turns the direction of text', 'a\u202eb'],
    ['a letter without width', 'a\u200bb'],
    ['a control character', 'a\u0007b'],
    ['a NUL', 'a\0b'],
    ['half of a letter', 'a\ud800b'],
    ['nothing', '   '],
  ])('cannot have %s', (_, description) => {
    expect(pathsIn(withEntry({ description }))).toContain('agents[0].description')
  })

  test('is stored with its letters normalised', () => {
    const { registry } = checkRegistry(withEntry({ description: ' ｗｒｉｔｅｓ ' }), profiles)
    expect(registry?.agents[0]?.description).toBe('writes')
  })
})

test('ten thousand agents are checked, and more are refused', () => {
  const many = (count: number) => ({
    version: 1,
    agents: Array.from({ length: count }, (_, at) => ({ ...short, agentId: `@agent-${at}` })),
  })
  expect(problemsIn(many(10_000))).toEqual([])
  expect(pathsIn(many(10_001))).toEqual(['agents'])
})
