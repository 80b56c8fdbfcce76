import type { Principal } from '../domain/access/principal.ts'
import type { Millis } from '../domain/clock.ts'
import type { Event } from '../domain/event.ts'
import type { StreamDelta } from '../domain/stream-delta.ts'
import type { App } from './app.ts'
import type { WorkInProgress } from './views/run.ts'

/** A browser that has signed in. */
export interface SignedIn {
  /** What the browser proves itself with from now on. */
  token: string
  principal: Principal
  expiresAt: Millis
}

/** A Heddle that is open in this process: an App for each principal, and what only its own process can do. */
export interface Heddle {
  /** All that this principal can ask for. */
  as(principal: Principal): App
  /** Whose token this is; without one, the owner. Throws if no principal has this token. */
  identify(token: string | undefined): Promise<Principal>
  /** Signs a browser in with the code of a link, which is good for one browser. */
  signIn(code: string): Promise<SignedIn>
  /** Ends the token of a browser. */
  signOut(token: string): Promise<void>
  /**
   * Carries out a request that a principal can name by a key: sent again, it gets the first answer. Refuses another request
   * with the same key. A repeatable request has its effect once however often it is made.
   */
  once(
    principal: Principal,
    request: { key: string; hash: string; isRepeatable: boolean },
    act: () => Promise<unknown>,
  ): Promise<unknown>
  /** Those of these events that a principal may see, as it may see them: for events that were read once for all. */
  shownTo(principal: Principal, events: readonly Event[]): Promise<Event[]>
  /** Whether a principal may receive a run's text. */
  mayStream(principal: Principal, runId: string): Promise<boolean>
  /** Starts a worker in this process, for one session or for all; a home has only one worker for all. */
  work(options?: { folder: string; session: string }): Promise<WorkInProgress>
  /** Whether the database answers and a worker of this process holds its lease. Throws if the database does not answer. */
  isReady(): Promise<boolean>
  /** Streams the text of this process's runs; the returned function stops it. */
  listen(listener: (delta: StreamDelta) => void): () => void
  close(): Promise<void>
}
