import type { PathAddress } from '../domain/path-handle.ts'
import type { Listing } from './listing.ts'
import type { FoundFile, Search, Searched } from './search.ts'

/** Work on files that may take long, or for ever: it is done in a thread that can be stopped. */
export type FileJob = { list: PathAddress } | { search: Search }

/** What comes of a job. */
export type JobResult<J extends FileJob> = J extends { list: unknown } ? Listing : Searched

/** What a thread says: files as they are found, and in the end the result or why there is none. */
export type ThreadSays =
  | { found: FoundFile }
  | { done: Listing | Searched }
  | { failed: { message: string; known?: { code: string; remedy: string } } }
