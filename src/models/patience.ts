import type { Clock, Millis } from '../domain/clock.ts'

export interface Patience {
  /** Something that belongs to the reply came. */
  heard(): void
  /** The reply is there, or will not come: stop waiting. */
  end(): void
}

/**
 * Calls `expired` once the provider was silent for `idle`, or the whole call took `total`. One timer at a time, however
 * many parts come.
 */
export function patience(
  clock: Clock,
  limits: { idle: Millis; total: Millis },
  expired: (limit: 'idle' | 'total') => void,
): Patience {
  const over = new AbortController()
  const begun = clock.monotonic()
  let lastHeard = begun
  const watch = async () => {
    while (!over.signal.aborted) {
      const idleLeft = lastHeard + limits.idle - clock.monotonic()
      const totalLeft = begun + limits.total - clock.monotonic()
      if (idleLeft <= 0 || totalLeft <= 0) return expired(totalLeft <= 0 ? 'total' : 'idle')
      await clock.sleep(Math.min(idleLeft, totalLeft), over.signal)
    }
  }
  watch()
  return {
    heard() {
      lastHeard = clock.monotonic()
    },
    end: () => over.abort(),
  }
}
