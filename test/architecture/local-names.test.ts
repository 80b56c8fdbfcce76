import { expect, test } from 'vitest'
import { violations } from './violations.ts'

const exporting = { path: 'src/domain/place.ts', text: 'export interface Place {}' }
const user = { path: 'src/domain/user.ts', text: "import type { Place } from './place.ts'" }

test.each([
  ['a function', 'async function Place() {}'],
  ['a constant', 'const [a] = [], Place = 1'],
  ['a class', 'abstract class Place {}'],
  ['an interface', 'interface Place {}'],
  ['a type', 'type Place = string'],
  ['an enumeration', 'enum Place {}'],
])('%s is not named as what another file exports', (_, text) => {
  expect(violations([exporting, user, { path: 'src/store/rows.ts', text }])).toEqual([
    'src/store/rows.ts: declares Place, which src/domain/place.ts exports; import that or name it apart',
  ])
})

test.each([
  ['a name inside a function', 'function find() { const Place = 1 }'],
  ['an import', "import type { Place } from '../domain/place.ts'"],
  ['a re-export', "export type { Place } from '../domain/place.ts'"],
  ['a name of its own', 'interface RowPlace {}'],
])('%s is none', (_, text) => {
  const taker = { path: 'src/memory/taker.ts', text: "import type { Place } from '../store/rows.ts'" }
  expect(violations([exporting, user, { path: 'src/store/rows.ts', text }, taker])).toEqual([])
})

test('a file that exports its own name afterwards has it once', () => {
  const text = 'interface Place {}\nexport type { Place }'
  expect(violations([{ path: 'src/domain/place.ts', text }, user])).toEqual([])
})

test('a name of the same meaning that the layers keep apart is listed with its reason', () => {
  const files = [
    { path: 'src/config/files.ts', text: 'export function isCode() {}' },
    { path: 'src/config/write.ts', text: "import { isCode } from './files.ts'" },
    { path: 'src/file-lock.ts', text: 'function isCode() {}' },
  ]
  expect(violations(files)).toEqual([])
})
