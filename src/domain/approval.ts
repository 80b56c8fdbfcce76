import type { Millis } from './clock.ts'
import type { Label } from './label.ts'

/** How a question about a call can be answered: for this call, for the session, for this agent in this folder, or not. */
export const answers = ['once', 'session', 'agent', 'no'] as const
export type Answer = (typeof answers)[number]
export type Scope = Exclude<Answer, 'no'>

/** A call that waits for somebody's word, or did. */
export interface Approval {
  id: number
  runId: string
  callId: string
  tool: string
  input: unknown
  /** What will change, in words, a diff or the exact command: nothing invisible is left in it. */
  change: string
  /** Why somebody is asked. */
  reason: string
  /** Where the words that led to this call came from. */
  label: Label
  /** Of the call as it was shown and all that it rests on: what is approved is this and nothing else. */
  hash: string
  /** What a wider answer would cover. */
  pattern: string
  askedAt: Millis
  answer: Answer | null
  answerReason: string | null
  answeredAt: Millis | null
}

/** An answer that holds for more than one call. */
export interface Grant {
  id: number
  scope: 'session' | 'agent'
  /** The session it holds for, with all that its requests begin; null when it holds for the agent in the folder. */
  sessionId: string | null
  agent: string
  folder: string
  tool: string
  pattern: string
  createdAt: Millis
  revokedAt: Millis | null
}

/** What somebody says to a call that waits. */
export interface Decision {
  answer: Answer
  reason?: string
  /** The mark of what they were shown: a yes counts for that alone. */
  hash?: string
}
