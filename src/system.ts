import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock, Random } from './domain/clock.ts'

/** Timers of the machine hold no more; a longer one would end at once. */
const longestSleep = 2 ** 31 - 1

/** The machine's own time: the only file that asks for it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Since the machine started: the same for all its processes, and nobody sets it.
  monotonic: () => Number(process.hrtime.bigint()) / 1_000_000,
  sleep: (duration, signal) =>
    wait(Math.min(duration, longestSleep), undefined, signal ? { signal } : {}).catch(() => undefined),
}

const drawn = 4096

/** The machine's own randomness: the only file that asks for it. Drawn in bulk, each byte handed out once. */
export const systemRandom: Random = pooled((count) => randomBytes(count))

function pooled(draw: (count: number) => Uint8Array): Random {
  let pool: Uint8Array = new Uint8Array()
  let next = 0
  return {
    bytes(count) {
      if (next + count > pool.length) {
        pool = draw(Math.max(count, drawn))
        next = 0
      }
      next += count
      return pool.slice(next - count, next)
    },
  }
}
