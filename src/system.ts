import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock, Random } from './domain/clock.ts'

/** The machine's own time: the only file that asks for it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (duration, signal) => wait(duration, undefined, signal ? { signal } : {}).catch(() => undefined),
}

/** The machine's own randomness: the only file that asks for it. */
export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
}
