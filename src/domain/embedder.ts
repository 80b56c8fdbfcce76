/** Someone who turns texts into vectors, so that what means the same lies close together. */
export interface Embedder {
  /** Whose vectors these are, by address and model: those of another mean nothing beside them. */
  readonly name: string
  /**
   * A vector for each text, in their order and all of one length. Rejects with a `HeddleError` that says what to do, or
   * with the signal's reason.
   */
  embed(texts: readonly string[], options: { signal: AbortSignal }): Promise<Float32Array[]>
}
