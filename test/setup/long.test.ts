import { expect, test } from 'vitest'
import { inTurn } from './long.ts'

const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

test('a part of a list is spread over all of it, and each day has another one until every case had its turn', () => {
  expect(inTurn(all, 3, 0)).toEqual(['a', 'c', 'e'])
  expect(inTurn(all, 3, 1)).toEqual(['b', 'd', 'f'])
  const taken = all.flatMap((_, day) => inTurn(all, 3, day))
  expect(new Set(taken)).toEqual(new Set(all))
})

test('a short list is taken whole', () => {
  expect(inTurn(all, 7, 5)).toEqual(all)
})
