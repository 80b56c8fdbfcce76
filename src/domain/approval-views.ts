import type { Answer, Confinement, Coverage, Fact, Scope } from './approval.ts'

/** A call that waits for a person, with what they need to decide. */
export interface ApprovalView {
  id: number
  runId: string
  agent: string
  session: string | null
  folder: string | null
  /** The beginning of what a person asked for, and where they did. */
  request: string
  requestSession: string | null
  tool: string
  input: unknown
  /** What the runtime knows about the call: where it runs, what bounds it, what changed since it was asked about. */
  facts: Fact[]
  /** What a model or a file wrote: a diff, the exact command, or the input. All of it, with nothing invisible left. */
  change: string
  reason: string
  /** Where the words that led here came from besides people and this folder. */
  sources: string[]
  trusted: boolean
  hash: string
  /** What an answer for more than this call would cover, in words and to be compared. */
  covers: string
  coverage: Coverage | null
  /** Something changed after it was approved, and its call was not made. */
  isAskedAgain: boolean
  askedAt: string
  scopes: (Scope | 'tomorrow')[]
  answer?: Answer
  answerReason?: string
}

/** An answer that holds until it is taken back. */
export interface GrantView {
  id: number
  scope: 'session' | 'agent'
  session: string | null
  agent: string
  folder: string
  tool: string
  cwd: string
  confinement: Confinement | null
  covers: string
  /** Ends as soon as a run has changed a file in the folder. */
  lapses: boolean
  since: string
}
