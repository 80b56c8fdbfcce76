import { expect, test } from 'vitest'
import { mainArgument } from '../../src/domain/text/main-argument.ts'

test.each([
  [{ limit: 3, path: 'src/cart.ts' }, 'src/cart.ts'],
  [{ old: 'a', command: 'npm test' }, 'npm test'],
  [{ depth: 2, where: 'here' }, '2'],
  [{ deep: { path: 'x' } }, ''],
  ['text that is no JSON', 'text that is no JSON'],
  [{}, ''],
  [null, ''],
  [JSON.parse('{"__proto__":{"path":"x"}}'), ''],
])('%j is about "%s"', (input, about) => {
  expect(mainArgument(input)).toBe(about)
})

test('a long one is cut', () => {
  expect(mainArgument({ command: 'x'.repeat(1000) })).toHaveLength(200)
})
