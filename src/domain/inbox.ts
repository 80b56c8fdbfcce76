import { ownerText } from './access/principal.ts'
import type { Millis } from './clock.ts'
import { UsageError } from './errors.ts'
import type { Label } from './label.ts'
import type { Part, Source } from './message.ts'
import type { RunOptions } from './run-options.ts'
import { isStorable } from './text/storable.ts'

const inboxKinds = ['message', 'result', 'join', 'trigger', 'steer', 'system'] as const
export type InboxKind = (typeof inboxKinds)[number]

/** The turns that a narrative summarises. */
export interface NarrationRequest {
  sessionId: string
  /** The session's name, which is the narrative's topic. */
  topic: string
  /** The last turn to summarise. */
  turnId: string
  /** The narrative that it continues. */
  previousId: number | null
  /** Memories that were stored in those turns or recalled by their runs. */
  memoryIds: number[]
  /** Tasks of the plans that those turns carry out; missing in requests of earlier versions. */
  taskIds?: number[]
}

/** An input that waits for a session: bound to the run that will take it, consumed with that run's turn. */
export interface InboxItem {
  id: string
  sessionId: string
  kind: InboxKind
  content: string
  source: Source
  parts: Part[]
  label: Label
  options: RunOptions
  /** False for an item that is delivered without starting a run of its own. */
  wake: boolean
  /** The request it belongs to; null for one that starts its own. */
  rootRunId: string | null
  runId: string | null
  consumedByTurn: string | null
  createdAt: Millis
  /** Text form of the principal who sent it, or whose request it belongs to. */
  principal: string
  /** The result that it reports, and the call of the requester that started the agent. */
  resultId?: number
  toolCallId?: string
  tells?: NarrationRequest
  /** Id of the message in the system that it came from: a chat, a mail, a hook. */
  outerRef?: string
}

/** The principal of the run that waiting items shall start: that of the first one which wakes its session. */
export function nextPrincipal(waiting: readonly InboxItem[]): string {
  return (waiting.find(({ wake }) => wake) ?? waiting[0])?.principal ?? ownerText
}

/**
 * The waiting items that a run of this principal takes: those of the principal, up to the first item of another one that
 * wakes the session. Items that wake nothing do not hold up others. `bindItems` does the same in SQL.
 */
export function itemsOfPrincipal(waiting: readonly InboxItem[], principal: string): InboxItem[] {
  const end = waiting.findIndex((item) => item.wake && item.principal !== principal)
  return waiting.slice(0, end < 0 ? undefined : end).filter((item) => item.principal === principal)
}

const maxKey = 200
export const maxOuterRef = 200

/** Refuses what no system uses as the id of a message. */
export function checkOuterRef(ref: string): string {
  if (ref === '' || ref.length > maxOuterRef || !isStorable(ref) || /\p{Cc}/u.test(ref))
    throw new UsageError(
      'the outer reference is empty, too long or not well-formed',
      'use 1 to 200 characters without control characters, such as telegram:42:1007',
      'bad_ref',
    )
  return ref
}

/**
 * Stored form of a sender's dedupe key. The prefix keeps it apart from the engine's own keys (`result:`, `join:`, `plan:`,
 * `narrative:`, `cron:`, `outbox:`).
 */
export function clientKey(key: string, sender = 'owner'): string {
  if (key === '' || key.length > maxKey || !isStorable(key))
    throw new UsageError('the dedupe key is empty, too long or not well-formed', 'use 1 to 200 characters', 'bad_key')
  return `c:${sender}:${key}`
}
