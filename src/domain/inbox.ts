import type { Millis } from './clock.ts'
import { Misuse } from './errors.ts'
import type { Label } from './label.ts'
import type { Part, Source, ThinkingConfig } from './message.ts'
import { isStorable } from './storable.ts'

export const inboxKinds = ['message', 'result', 'join', 'trigger', 'steer', 'system'] as const
export type InboxKind = (typeof inboxKinds)[number]

/** How the run that answers an item shall run. */
export interface RunWishes {
  /** Who shall answer, by name. */
  agent?: string
  /** Somebody watches and can be asked before a plan is carried out. */
  attended?: boolean
  /** Somebody waits who can be told that a budget is spent, and can raise it; otherwise the run fails. */
  waitsForBudget?: boolean
  model?: string
  priority?: number
  /** Running time. */
  timeoutMs?: Millis
  deadline?: Millis
  thinking?: ThinkingConfig
}

/** What a narrative is asked to tell of. */
export interface Telling {
  sessionId: string
  /** The session's name, which is the narrative's topic. */
  topic: string
  /** The last turn that is told of. */
  turnId: string
  /** The narrative that it goes on from. */
  previousId: number | null
  /** What was kept in those turns, or what their runs were reminded of. */
  memoryIds: number[]
}

/** Something that waits for a session: bound to the run that will take it, consumed with the turn that run leaves. */
export interface InboxItem {
  id: string
  sessionId: string
  kind: InboxKind
  content: string
  source: Source
  parts: Part[]
  label: Label
  wishes: RunWishes
  /** False for what is delivered without being worth a run of its own. */
  wake: boolean
  /** The request it belongs to; null for one that begins its own. */
  rootRunId: string | null
  runId: string | null
  consumedByTurn: string | null
  createdAt: Millis
  /** The result that it tells of. */
  resultId?: number
  tells?: Telling
}

const maxKey = 200

/**
 * The stored form of a key by which a sender marks two deliveries as the same. Keys of senders have a prefix that no key
 * of the engine (`result:`, `join:`, `plan:`, `narrative:`) begins with: none can take the place of another.
 */
export function clientKey(key: string, sender = 'owner'): string {
  if (key === '' || key.length > maxKey || !isStorable(key))
    throw new Misuse('the dedupe key is empty, too long or not well-formed', 'use 1 to 200 characters', 'bad_key')
  return `c:${sender}:${key}`
}

/** What the inputs that one run answers ask for: of several wishes the last one counts, and the highest priority. */
export function wishesOf(items: InboxItem[]): RunWishes {
  const { timeoutMs, ...wishes }: RunWishes = Object.assign({}, ...items.map((item) => item.wishes))
  const priorities = items.map((item) => item.wishes.priority ?? 0)
  return {
    ...wishes,
    // Earlier versions took fractions of a millisecond in, which no row of a run can hold.
    ...(timeoutMs !== undefined && { timeoutMs: Math.ceil(timeoutMs) }),
    priority: priorities.length > 0 ? Math.max(...priorities) : 0,
  }
}
