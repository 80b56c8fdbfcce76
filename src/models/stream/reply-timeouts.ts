import type { Clock, Millis } from '../../domain/clock.ts'

interface ReplyTimeouts {
  /** Resets the idle timeout: a part of the reply arrived. */
  heard(): void
  /** Stops the timeouts. */
  end(): void
}

/**
 * Calls `expired` once the provider was silent for `idle`, or the whole call took `total`. Uses one timer for any number
 * of parts.
 */
export function replyTimeouts(
  clock: Clock,
  limits: { idle: Millis; total: Millis },
  expired: (limit: 'idle' | 'total') => void,
): ReplyTimeouts {
  const ended = new AbortController()
  const started = clock.monotonic()
  let lastActivity = started
  const watch = async () => {
    while (!ended.signal.aborted) {
      const idleLeft = lastActivity + limits.idle - clock.monotonic()
      const totalLeft = started + limits.total - clock.monotonic()
      if (idleLeft <= 0 || totalLeft <= 0) return expired(totalLeft <= 0 ? 'total' : 'idle')
      await clock.sleep(Math.min(idleLeft, totalLeft), ended.signal)
    }
  }
  watch()
  return {
    heard() {
      lastActivity = clock.monotonic()
    },
    end: () => ended.abort(),
  }
}
