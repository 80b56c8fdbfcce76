import type { Label } from './label.ts'
import type { Part, Source, ThinkingConfig } from './message.ts'
import type { Outcome } from './run.ts'
import type { CallStatus, Usage } from './turn.ts'

/** An input as its author gives it; the runtime adds id and time. */
export interface InputDraft {
  content: string
  source?: Source
  parts?: Part[]
  label?: Label
}

/** A turn as its author gives it, by hand or from elsewhere. */
export interface TurnDraft {
  query: InputDraft[]
  response: { content: string; parts?: Part[] }
  status?: Outcome
  model?: { requested?: string; actual?: string }
  thinkingConfig?: ThinkingConfig
  toolCalls?: { id: string; name: string; input: unknown; output: unknown; status: CallStatus }[]
  usage?: Usage
  systemPrompt?: string
  /** Makes it a compaction turn: its response stands for the path from here back to, and with, this depth. */
  compactsTo?: number
}
