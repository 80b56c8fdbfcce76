/** A server's response, as far as it was read. */
export interface FetchResult {
  /** Final URL after all redirects, without a fragment. */
  url: string
  status: number
  /** As the server sent it; empty when it sent none. */
  contentType: string
  /** Decompressed. */
  body: Buffer
  /** Whether the body was longer than the read limit. */
  isCut: boolean
}

/**
 * The only network access of tools. Reaches public addresses and those that the config allows, and refuses the rest with a
 * message for the model; sends no credentials and no cookies.
 */
export type SafeFetch = (url: string, signal: AbortSignal, limits?: FetchLimits) => Promise<FetchResult>

/** Limits of one fetch. */
export interface FetchLimits {
  /** Refuses redirects to other hosts, except to origins that the config allows. */
  staysOnHost?: boolean
}
