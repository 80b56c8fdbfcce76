import type { Label } from '../../domain/label.ts'
import type { Message, ThinkingConfig } from '../../domain/message.ts'
import type { Outcome } from '../../domain/run.ts'
import type { Compaction, ToolCall, TurnModel, TurnType, Usage } from '../../domain/turn.ts'
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
  systemPrompt: string | null
  /** Ids from the root to this turn. */
  ancestry: string[]
}
