/**
 * A provisional sign of what a run is saying right now, from the process that runs it. It is never stored and may be
 * lost; the durable step replaces it. After `reset` what was shown of that call is void: it will be made again, or not.
 */
export type LiveSign =
  | { kind: 'text' | 'thinking'; runId: string; call: number; text: string }
  | { kind: 'reset'; runId: string; call: number }

/** Passes live signs on to whoever listens. A listener must be quick and must not throw. */
export interface LiveFeed {
  tell(sign: LiveSign): void
  listen(listener: (sign: LiveSign) => void): () => void
}

export function liveFeed(): LiveFeed {
  const listeners = new Set<(sign: LiveSign) => void>()
  return {
    tell(sign) {
      for (const listener of listeners) listener(sign)
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
