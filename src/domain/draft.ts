import type { Label } from './label.ts'
import type { Part, Source, ThinkingConfig } from './message.ts'
import type { Outcome } from './run.ts'
import type { CallStatus, Usage } from './turn.ts'

/** An input before the runtime adds id and time. */
export interface InputDraft {
  content: string
  source?: Source
  parts?: Part[]
  label?: Label
}

/** A turn written by hand or imported, before it is stored. */
export interface TurnDraft {
  query: InputDraft[]
  response: { content: string; parts?: Part[] }
  status?: Outcome
  model?: { requested?: string; actual?: string }
  thinkingConfig?: ThinkingConfig
  toolCalls?: { id: string; name: string; input: unknown; output: unknown; status: CallStatus }[]
  usage?: Usage
  systemPrompt?: string
  /** Makes it a compaction turn: its response replaces the path from here back to this depth, inclusive. */
  compactsTo?: number
}
