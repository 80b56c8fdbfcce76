import { expect, test } from 'vitest'
import { violations } from './violations.ts'

test.each([
  ['a function', 'function take(a, b, c, d, e) {}'],
  ['an arrow', 'const take = (a, b, c, d, { e }) => a'],
  ['a method', 'class Taker { take(a, b, c, d, ...e) {} }'],
])('%s of the run loop has at most four parameters', (_, text) => {
  expect(violations([{ path: 'src/engine/run/take.ts', text: `\n${text}` }])).toEqual([
    'src/engine/run/take.ts:2: has 5 parameters; give them as an object with names',
  ])
  expect(violations([{ path: 'src/engine/run/take.ts', text: text.replace('a, ', '') }])).toEqual([])
})
