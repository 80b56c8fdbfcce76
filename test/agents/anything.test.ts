import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readAgent } from '../../src/agents/read-agent.ts'
import { read } from './place.ts'

const runs = 500
const file = { path: '/x/some-agent.md', source: 'home' } as const

test('random bytes are an agent or a diagnostic, never a crash', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(readAgent(bytes, file).status).toBe('broken')
    }),
    { numRuns: runs },
  )
})

test('random text in the place of a head is never a crash, and whatever breaks it has a line and a remedy', () => {
  const character = fc.constantFrom(
    ...'ab:-[]{}"\'*&!|>%@`#?,() \t\n\n',
    ': ',
    '- ',
    'name: ',
    'tools: ',
    'description: ',
  )
  fc.assert(
    fc.property(fc.array(character, { maxLength: 60 }), (pieces) => {
      const agent = read(`---\n${pieces.join('')}\n---\nbody\n`)
      expect(agent.diagnostics.filter(({ level, remedy }) => level !== 'note' && !remedy)).toEqual([])
      expect(agent.tools.every((tool) => /^[a-z_]+$/.test(tool))).toBe(true)
    }),
    { numRuns: runs * 4 },
  )
})

test('any value of any field is never a crash', () => {
  const field = fc.constantFrom(
    'name',
    'description',
    'triggers',
    'tools',
    'allowed-tools',
    'model',
    'permission',
    'metadata',
  )
  fc.assert(
    fc.property(fc.dictionary(field, fc.jsonValue()), (fields) => {
      expect(['ready', 'degraded', 'broken']).toContain(read(`---\n${stringify(fields)}---\nbody\n`).status)
    }),
    { numRuns: runs },
  )
})

test('fields that we do not know survive being read and written again', () => {
  const ours = ['name', 'description', 'triggers', 'tools', 'allowed-tools', 'allowed_tools', 'allowedTools', 'model']
  const key = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_-]{0,12}$/).filter((each) => !ours.includes(each))
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue({ noUnicodeString: false })), (extra) => {
      const written = (more: Record<string, unknown>) =>
        `---\n${stringify({ name: 'some-agent', description: 'd', tools: [], ...more })}---\nbody\n`
      const first = read(written(extra))
      const second = read(written(first.extra))
      expect(second.extra).toEqual(first.extra)
      expect(JSON.stringify(numbersAsText(first.extra))).toBe(JSON.stringify(numbersAsText(extra)))
    }),
    { numRuns: runs },
  )
})

/** A number that YAML would spell in another way is kept as its text. */
function numbersAsText(value: unknown): unknown {
  if (typeof value === 'number') return String(Object.is(value, -0) ? 0 : value)
  if (typeof value === 'string' && /^[-+.\d]/.test(value) && Number.isFinite(Number(value)))
    return String(Number(value) || 0)
  if (Array.isArray(value)) return value.map(numbersAsText)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, numbersAsText(inner)]))
}
