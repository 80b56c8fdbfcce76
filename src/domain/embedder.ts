/** Turns texts into vectors; similar meanings lie close together. */
export interface Embedder {
  /** Address and model: vectors of different embedders cannot be compared. */
  readonly name: string
  /**
   * A vector for each text, in their order and all of one length. Rejects with a `HeddleError` that says what to do, or
   * with the signal's reason.
   */
  embed(texts: readonly string[], options: { signal: AbortSignal }): Promise<Float32Array[]>
}
