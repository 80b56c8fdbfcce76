import type { Event } from '../domain/event.ts'

const known = new WeakMap<Event, string>()

/** An event as JSON, made once for all who get it. Events never change. */
export function eventJson(event: Event): string {
  const before = known.get(event)
  if (before !== undefined) return before
  const text = JSON.stringify(event)
  known.set(event, text)
  return text
}
