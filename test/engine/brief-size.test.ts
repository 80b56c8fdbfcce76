import { expect, test } from 'vitest'
import { fairShares } from '../../src/engine/plans/brief-size.ts'

test.each([
  { sizes: [], room: 10, shares: [] },
  { sizes: [5, 5], room: 100, shares: [5, 5] },
  { sizes: [50, 50], room: 60, shares: [30, 30] },
  { sizes: [100, 5, 100], room: 105, shares: [50, 5, 50] },
  { sizes: [10, 10], room: -5, shares: [0, 0] },
])('texts of $sizes bytes share $room: $shares', ({ sizes, room, shares }) => {
  expect(fairShares(sizes, room)).toEqual(shares)
})
