/** Milliseconds: an instant since 1970 (UTC) or a duration, as the name beside it says. */
export type Millis = number

/** The only source of time. `monotonic` never jumps and is meaningless across processes. */
export interface Clock {
  now(): Millis
  monotonic(): Millis
  /** Resolves after the duration, or at once when the signal aborts; never rejects. */
  sleep(duration: Millis, signal?: AbortSignal): Promise<void>
}

/** The only source of randomness. */
export interface Random {
  bytes(count: number): Uint8Array
}
