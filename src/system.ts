import { randomBytes } from 'node:crypto'
import type { Clock, Millis, Random } from './domain/clock.ts'

/** Max of Node timers; a longer one would fire at once. */
export const maxTimer = 2 ** 31 - 1

/** System clock; no other file reads the time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Time since boot: the same for all processes of the machine, and never set.
  monotonic: () => Number(process.hrtime.bigint()) / 1_000_000,
  sleep: (duration, signal) =>
    sleepInParts(duration, signal, {
      monotonic: systemClock.monotonic,
      wait: (part) => waitOnce(part, signal),
    }),
}

/** Waits for a timer or the signal. By hand: the timer of `node:timers/promises` makes an error with its stack for every abort. */
function waitOnce(duration: Millis, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, duration)
    signal?.addEventListener('abort', end)
  })
}

/** Sleeps for any length, in timers that Node can hold. */
export async function sleepInParts(
  duration: Millis,
  signal: AbortSignal | undefined,
  { monotonic, wait }: { monotonic(): Millis; wait(part: Millis): Promise<void> },
): Promise<void> {
  const end = monotonic() + duration
  let left = duration
  do {
    await wait(Math.min(left, maxTimer))
    left = end - monotonic()
  } while (duration > maxTimer && left > 0 && !signal?.aborted)
}

/** Time zone of this machine. */
export function systemTimezone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

const poolSize = 4096

/** System randomness; no other file reads it. Read in bulk, each byte used once. */
export const systemRandom: Random = pooled((count) => randomBytes(count))

function pooled(draw: (count: number) => Uint8Array): Random {
  let pool: Uint8Array = new Uint8Array()
  let next = 0
  return {
    bytes(count) {
      if (next + count > pool.length) {
        pool = draw(Math.max(count, poolSize))
        next = 0
      }
      next += count
      return pool.slice(next - count, next)
    },
  }
}
