/** A place where a scripted model waits until a test lets it go on. */
export interface Gate {
  /** Resolves when somebody waits at the gate, so that a test knows that the moment has come. */
  readonly reached: Promise<void>
  /** Lets through whoever waits, and whoever comes later. */
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
