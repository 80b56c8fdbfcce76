/** What a server answered, as far as it was read. */
export interface Fetched {
  /** Where the answer came from after all redirects, without a fragment. */
  url: string
  status: number
  /** As the server says it; empty when it says nothing. */
  contentType: string
  /** Decompressed. */
  body: Buffer
  /** Whether more was to come than anybody reads. */
  isCut: boolean
}

/**
 * The one way of tools to the network. It gets to public addresses and to what the owner opened, and refuses the rest in
 * words for the model; it sends no credentials and no cookies.
 */
export type SafeFetch = (url: string, signal: AbortSignal) => Promise<Fetched>
