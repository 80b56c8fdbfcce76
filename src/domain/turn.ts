import type { Millis } from './clock.ts'
import type { Label } from './label.ts'
import type { Message, ThinkingConfig } from './message.ts'
import type { Outcome } from './run.ts'

export const turnTypes = ['normal', 'compaction'] as const
export type TurnType = (typeof turnTypes)[number]

export const callStatuses = ['ok', 'error', 'forbidden', 'unknown'] as const

export type CallStatus = (typeof callStatuses)[number]

/** A turn's entry for a tool call: where in its run's steps the call begins and ends. The payload is kept there, once. */
export interface ToolCallEntry {
  id: string
  name: string
  status: CallStatus
  begun: number
  ended: number
}

/** A tool call with its answer, as people read it. */
export interface ToolCall {
  id: string
  name: string
  input: unknown
  output: unknown
  status: CallStatus
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }

/** Tokens and money whose amount nobody told us. */
export interface Unsure {
  /** Computed from what was sent and seen. */
  estimatedInputTokens: number
  estimatedOutputTokens: number
  estimatedUsd: number
  /** Of calls whose process died: the most that they can have been. */
  lostInputTokens: number
  lostOutputTokens: number
  lostUsd: number
}

export interface Usage extends Partial<Unsure> {
  /** Everything that was sent, whether read from a cache, written to one, or neither. */
  inputTokens: number
  outputTokens: number
  /** Those read from a cache. */
  cachedTokens: number
  /** Those written to a cache, where the provider says so. Part of the cost, and not kept in rows. */
  cacheWriteTokens?: number
  costUsd: number
  /** Of a single call: these figures are computed here, since the provider told none. */
  isEstimate?: true
}

/** What a compaction turn stands for: the turns at these depths; later ones before it are kept word for word. */
export interface Compaction {
  fromDepth: number
  toDepth: number
}

/** Inputs, everything the agent did, and one final answer; never changed once written. Its id is the answer's. */
export interface Turn {
  id: string
  parentTurnId: string | null
  type: TurnType
  status: Outcome
  queryMessages: Message[]
  responseMessage: Message
  model: { requested: string | null; actual: string | null }
  thinkingConfig: ThinkingConfig | null
  toolCalls: ToolCallEntry[]
  /** Tokens of this turn only. */
  tokenCount: number
  usage: Usage
  compaction: Compaction | null
  promptHash: string | null
  label: Label
  runId: string
  timestamp: Millis
}

/** A turn's place in the tree: the turn seen with all its ancestors. */
export interface Thread {
  turnId: string
  parentTurnId: string | null
  segmentId: string
  /** How many turns lie on the path, this one included. */
  depth: number
  totalTokens: number
  hasChildren: boolean
  /** Depth of the nearest compaction turn on the path, 0 if there is none. */
  contextStart: number
  personaId: string | null
}

/** A turn together with its place. */
export interface PlacedTurn {
  turn: Turn
  thread: Thread
}

/** A structured address that never changes: unlike a session's label it stays with its turn. */
export function threadKey(thread: Pick<Thread, 'segmentId' | 'depth'>): string {
  return `${thread.segmentId}/${thread.depth}`
}
