/**
 * Streamed text of a running model call, from the process that runs it. Never stored and may be lost; the durable step
 * replaces it. `reset` voids everything shown of that call, which may be retried.
 */
export type StreamDelta =
  | { kind: 'text' | 'thinking'; runId: string; call: number; text: string }
  | { kind: 'reset'; runId: string; call: number }

/** Passes deltas to all listeners. A listener must be quick and must not throw. */
interface LiveFeed {
  publish(delta: StreamDelta): void
  listen(listener: (delta: StreamDelta) => void): () => void
}

export function liveFeed(): LiveFeed {
  const listeners = new Set<(delta: StreamDelta) => void>()
  return {
    publish(delta) {
      for (const listener of listeners) listener(delta)
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
