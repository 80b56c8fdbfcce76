import { z } from 'zod'

/** Values that somebody may put into a field to break what is behind it. */
export function hostileTexts(known: readonly string[] = []): string[] {
  return [
    ...['__proto__', 'constructor', 'a\0b', '\ud800', 'half \udc00', '', '../../etc/passwd', "'; DROP TABLE runs; --"],
    ...[`${'a'.repeat(39)}${'𐐷'.repeat(300)}`, `${'x'.repeat(398)}😀 and more`, '-1', '1.5', 'task:-1'],
    ...(isLong ? moreTexts : []),
    ...known,
    'x'.repeat(1_000_000),
  ]
}

const isLong = process.env['HOSTILE_ROUNDS'] !== undefined

const moreTexts = [
  ...['prototype', 'toString', 'hasOwnProperty', '\0', '\u202e\u2066', '\ufffe', ' ', '\n', '/', '%00', '%'],
  ...['🧵'.repeat(300), '1e999', 'NaN', '0x10', 'null', 'run:', 'plan:0', 'turn:__proto__', 'session:main'],
  ...['agent:narrator:session:x', 'agent:x:subagent:y', 'c:owner:x'],
]

/** The same for fields of JSON, which may hold something else than text. */
export function hostileData(known: readonly string[] = []): unknown[] {
  const own = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}')
  const deep = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`)
  const numbers = [0, -1, 0.0015, 1.5, 2 ** 53, -1e308, 1e308]
  return [...hostileTexts(known), ...numbers, null, true, [], {}, own, deep, ['\0', { a: '\ud800' }]]
}

/** Valid values for the fields that a schema insists on, and the names of all its fields. */
export function fieldsOf(schema: z.ZodObject, folder: string): { valid: Record<string, unknown>; names: string[] } {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const properties = Object.entries(json.properties ?? {})
  const valid = properties
    .filter(([name]) => json.required?.includes(name))
    .map(([name, of]) => [name, name === 'folder' ? folder : exampleOf(of as z.core.JSONSchema.BaseSchema)])
  return { valid: Object.fromEntries(valid), names: properties.map(([name]) => name) }
}

function exampleOf(of: z.core.JSONSchema.BaseSchema): unknown {
  if (of.enum) return of.enum[0]
  if (of.type === 'string') return 'main'
  if (of.type === 'boolean') return true
  return of.type === 'number' || of.type === 'integer' ? 1 : {}
}
