import type { Event } from '../domain/event.ts'

/** The event log. */
export interface EventApp {
  events(query: { after?: string; limit?: number }): Promise<Event[]>
  follow(query: { after?: string; signal: AbortSignal }): AsyncIterable<Event>
  /** Cursor of the newest event, to follow only later ones. Null before the first. */
  cursor(): Promise<string | null>
  /** Deletes events older than the configured retention. */
  prune(): Promise<{ events: number }>
}
