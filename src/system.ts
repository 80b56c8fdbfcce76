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
      wait: (part) => wait(part, signal),
    }),
}

/** Resolves when the time is over or the signal aborts. Without the error that Node's own promise makes for each abort. */
function wait(duration: Millis, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
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
