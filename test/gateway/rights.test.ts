import { setImmediate as settled } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { owner, type Principal } from '../../src/domain/access/principal.ts'
import { RightsWatch } from '../../src/gateway/rights.ts'
import { manualClock } from '../../src/testing.ts'

test('the rights of a token are read once for all of its requests, and not at all when none is under way', async () => {
  const clock = manualClock()
  let reads = 0
  let now: Principal = owner
  const pass = async (time: number) => {
    await clock.advance(time)
    await settled()
  }
  const rights = new RightsWatch(
    {
      identify: async () => {
        reads += 1
        return now
      },
    },
    clock,
  )
  const requests = Array.from({ length: 200 }, () => rights.begin({ token: 'hdl_one', principal: owner }))
  const [first, ...rest] = requests
  await pass(500)
  expect(reads).toBe(1)
  first?.end()
  now = { kind: 'user', id: 'mia', role: 'operator' }
  await pass(500)
  expect(reads).toBe(2)
  expect(first?.lost.aborted).toBe(false)
  expect(rest.every(({ lost }) => lost.aborted)).toBe(true)
  expect(rest[0]?.lost.reason).toMatchObject({ code: 'rights_changed' })
  for (const { end } of rest) end()
  for (let n = 0; n < 10; n++) await pass(500)
  expect(reads).toBeLessThanOrEqual(3)
  const later = rights.begin({ token: 'hdl_one', principal: owner })
  await pass(500)
  expect(later.lost.aborted).toBe(true)
  rights.stop()
})

test('the owner on the private socket has no token to lose', async () => {
  const clock = manualClock()
  const rights = new RightsWatch({ identify: () => Promise.reject(new Error('looked')) }, clock)
  const { lost } = rights.begin({ token: undefined, principal: owner })
  await clock.advance(10_000)
  expect(lost.aborted).toBe(false)
})

test('a token has at most 256 requests under way, and one more as soon as one of them ends', () => {
  const watch = new RightsWatch({ identify: async () => owner }, manualClock())
  const sender = { token: 'hdl_many', principal: owner }
  const open = Array.from({ length: 256 }, () => watch.begin(sender))
  expect(() => watch.begin(sender)).toThrow(expect.objectContaining({ code: 'too_many_requests', retry: 'later' }))
  watch.begin({ ...sender, token: 'hdl_another' }).end()
  open[0]?.end()
  watch.begin(sender).end()
  watch.stop()
})
