import { expect, test } from 'vitest'
import { bytesOfMessage, maxUsage } from '../../src/engine/model/weight.ts'

test('what is set aside for a call is at the dearest price its input may have', () => {
  const price = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }
  expect(maxUsage(3_000_000, 1_000_000, { price }).costUsd).toBe(2.5 + 10)
  expect(maxUsage(3_000_000, 1_000_000, { price: { input: 2, output: 10 } }).costUsd).toBe(2 + 10)
})

test('a picture weighs the same whatever its size, and a file what it holds', () => {
  const plain = bytesOfMessage({ role: 'user', content: '' })
  const data = 'A'.repeat(40_000)
  const weigh = (part: Parameters<typeof bytesOfPart>[0]) => bytesOfPart(part) - plain
  expect(weigh({ type: 'image', mediaType: 'image/png', data })).toBe(6400)
  expect(weigh({ type: 'image', mediaType: 'image/png', data: 'AAAA' })).toBe(6400)
  expect(weigh({ type: 'file', path: 'a', mediaType: 'text/plain', data })).toBe(30_000)
})

function bytesOfPart(
  part: NonNullable<Extract<Parameters<typeof bytesOfMessage>[0], { role: 'user' }>['parts']>[number],
) {
  return bytesOfMessage({ role: 'user', content: '', parts: [part] })
}
