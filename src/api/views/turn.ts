import type { Label } from '../../domain/label.ts'
import type { Message, ThinkingConfig } from '../../domain/message.ts'
import type { Outcome } from '../../domain/run.ts'
import type { Compaction, ToolCall, TurnModel, TurnSettings, TurnType, Usage } from '../../domain/turn.ts'
import type { RecalledMemoryView, RecalledPassageView } from './memory.ts'

/** A turn in a list. Times are ISO 8601 UTC here and in every other view. */
export interface TurnLine {
  id: string
  parentId: string | null
  depth: number
  type: TurnType
  status: Outcome
  model: string | null
  tokens: number
  timestamp: string
  preview: string
  /** Labels of the sessions whose head this is. */
  session?: string
  hasChildren: boolean
  requestId: string
}

/** Where two threads part: the last turn of both, the turns that only one has, and what came of those. */
export interface ThreadDiff {
  ancestor: string | null
  a: string[]
  b: string[]
  work: { a: BranchWork; b: BranchWork }
}

/** What came of turns besides their answers. */
export interface BranchWork {
  /** Files that their runs, or agents below these, changed: relative to the folder. */
  files: { path: string; undone: boolean }[]
  /** Agents that worked for them, each with its number of runs. */
  agents: { agent: string; runs: number }[]
  /** Of these agents, estimates and lost calls included. */
  tokens: number
  costUsd: number
}

/** A turn of the whole tree. */
export interface TreeTurn extends TurnLine {
  /** Label of the session that wrote it; null if none goes on after it. */
  branch: string | null
  agent: string | null
  /** Beginning of its answer. */
  answer: string
  costUsd: number
}

/** A turn of a path with its words. Long inputs and outputs of its calls are cut; the view of the turn has them whole. */
export interface WindowTurn extends Omit<TurnView, DetailOfTurn> {
  agent: string | null
  /** A user stopped its request after it, while only agents worked: why, and which of them did not finish. */
  stopped?: { reason: string; unfinished: { runId: string; agent: string | null }[] }
}

type DetailOfTurn = 'kind' | 'thinkingConfig' | 'settings' | 'promptHash' | 'thread' | keyof RecalledByTurn

/** What the run of a turn was reminded of. */
type RecalledByTurn = Pick<TurnView, 'remindedOf' | 'remindedOfFiles' | 'beganWith'>

/** All of a turn. */
export interface TurnView {
  kind: 'turn'
  id: string
  parentId: string | null
  depth: number
  type: TurnType
  status: Outcome
  query: Message[]
  response: Message
  toolCalls: ToolCall[]
  model: TurnModel
  thinkingConfig: ThinkingConfig | null
  /** Other settings of its model calls, and its permissions; null where they are the defaults. */
  settings: TurnSettings | null
  tokenCount: number
  usage: Usage
  compaction: Compaction | null
  promptHash: string | null
  label: Label
  runId: string
  timestamp: string
  hasChildren: boolean
  sessions: string[]
  /** Memories that its run recalled. */
  remindedOf: RecalledMemoryView[]
  /** Passages of home files that its run recalled. */
  remindedOfFiles: RecalledPassageView[]
  /** The narrative that its run started with. */
  beganWith: { id: number; summary: string } | null
  thread: ThreadView
}

/** The turn's thread. */
export interface ThreadView {
  threadKey: string
  totalTokens: number
  persona: string | null
  /** Personas whose permissions bind it besides its own's. */
  boundBy: readonly string[]
  /** The whole system prompt that the turn's model was given. */
  systemPrompt: string | null
  /** The part of it that is the thread's own. */
  ownSystemPrompt: string | null
  /** Ids from the root to this turn. */
  ancestry: string[]
}
