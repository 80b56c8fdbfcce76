/** A point at which a scripted model waits until a test opens it. */
export interface Gate {
  /** Resolves when a model waits at the gate. */
  readonly reached: Promise<void>
  /** Lets all waiting and later models pass. */
  open(): void
  /** Resolves when the gate is open; rejects with the signal's reason when that aborts. */
  pass(signal: AbortSignal): Promise<void>
}

/** A closed gate. */
export function gate(): Gate {
  const arrival = Promise.withResolvers<void>()
  const opening = Promise.withResolvers<void>()
  return {
    reached: arrival.promise,
    open: opening.resolve,
    pass: (signal) =>
      new Promise((resolve, reject) => {
        const leave = () => reject(signal.reason)
        if (signal.aborted) return leave()
        signal.addEventListener('abort', leave, { once: true })
        opening.promise.then(() => {
          signal.removeEventListener('abort', leave)
          resolve()
        })
        arrival.resolve()
      }),
  }
}
