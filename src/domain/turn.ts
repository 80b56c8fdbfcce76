import type { Millis } from './clock.ts'
import type { Label } from './label.ts'
import type { Message, ThinkingConfig } from './message.ts'
import type { ModelSettings, Permissions } from './persona.ts'
import type { ModelClamp, Outcome } from './run.ts'

export const turnTypes = ['normal', 'compaction'] as const
export type TurnType = (typeof turnTypes)[number]

export const callStatuses = ['ok', 'error', 'forbidden', 'unknown'] as const

export type CallStatus = (typeof callStatuses)[number]

/** A turn's entry for a tool call: the steps of its run in which the call begins and ends, which hold the payload. */
export interface ToolCallEntry {
  id: string
  name: string
  status: CallStatus
  begun: number
  ended: number
}

/** A tool call with its output. */
export interface ToolCall {
  id: string
  name: string
  input: unknown
  output: unknown
  status: CallStatus
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }

/** Tokens and cost that the provider did not report. */
export interface UnreportedUsage {
  /** Computed from the text sent and received. */
  estimatedInputTokens: number
  estimatedOutputTokens: number
  estimatedUsd: number
  /** Of calls whose process died: the max possible. */
  lostInputTokens: number
  lostOutputTokens: number
  lostUsd: number
}

export interface Usage extends Partial<UnreportedUsage> {
  /** All input tokens, cached or not. */
  inputTokens: number
  outputTokens: number
  /** Cache reads. */
  cachedTokens: number
  /** Cache writes, if the provider reports them. Part of the cost, and not stored. */
  cacheWriteTokens?: number
  costUsd: number
  /** Of a single call: the figures are computed, since the provider reported none. */
  isEstimate?: true
  /** Of a single call: the provider reported the tokens, but the price is assumed. */
  isPriceAssumed?: true
}

/** The model that was asked for, and the one that answered, as its provider names it. */
export interface TurnModel {
  requested: string | null
  actual: string | null
  /** Why another model than the chosen one was asked. */
  clamped?: ModelClamp
}

/** The turns that a compaction turn replaces, by depth; later ones before it are kept word for word. */
export interface Compaction {
  fromDepth: number
  toDepth: number
}

/** Settings of a turn's run besides thinking, as far as they were set: by its inputs, or by its personas. */
export interface TurnSettings extends Omit<ModelSettings, 'thinking'> {
  /** All of these held: those of its personas, and those that came with its inputs. */
  permissions?: readonly Permissions[]
}

/** Inputs, everything the agent did, and one final answer; never changed once written. Its id is the answer's. */
export interface Turn {
  id: string
  parentTurnId: string | null
  type: TurnType
  status: Outcome
  queryMessages: Message[]
  responseMessage: Message
  model: TurnModel
  thinkingConfig: ThinkingConfig | null
  toolCalls: ToolCallEntry[]
  settings: TurnSettings | null
  /** Tokens of this turn only: its messages and its tool calls. */
  tokenCount: number
  usage: Usage
  compaction: Compaction | null
  promptHash: string | null
  label: Label
  runId: string
  timestamp: Millis
}

/** Configuration of a thread: turns that follow and forks inherit it. */
export interface ThreadConfig {
  personaId: string | null
  /** Hash of the thread's own system prompt, which is shown to the model after the runtime's. */
  systemPromptHash: string | null
  /** Personas whose permissions bind the thread besides those of its own, since it was forked from theirs. */
  boundBy: readonly string[]
}

/** A turn's place in the tree: the turn seen with all its ancestors. */
export interface Thread extends ThreadConfig {
  turnId: string
  parentTurnId: string | null
  segmentId: string
  /** Number of turns on the path, this one included. */
  depth: number
  totalTokens: number
  hasChildren: boolean
  /** Depth of the nearest compaction turn on the path, 0 if there is none. */
  contextStart: number
}

/** A turn with its place in the tree. */
export interface PlacedTurn {
  turn: Turn
  thread: Thread
}

/** A stable address of a turn, unlike a session's label. */
export function threadKey(thread: Pick<Thread, 'segmentId' | 'depth'>): string {
  return `${thread.segmentId}/${thread.depth}`
}
