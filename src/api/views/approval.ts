import type { Answer, Confinement, Coverage, Fact, Scope } from '../../domain/approval.ts'

/** A call that waits for approval, with all that the user needs to decide. */
export interface ApprovalView {
  id: number
  runId: string
  agent: string
  session: string | null
  folder: string | null
  /** Beginning of the user's request, and its session. */
  request: string
  requestSession: string | null
  tool: string
  input: unknown
  /** Statements of the runtime: where the call runs, its limits, changes since it was first asked. */
  facts: Fact[]
  /** Text from a model or a file: a diff, the exact command, or the input. Complete, with invisible characters escaped. */
  change: string
  reason: string
  /** Sources that led to the call, other than the user and this folder. */
  sources: string[]
  trusted: boolean
  hash: string
  /** The calls that a grant would cover, in words and for comparison. */
  covers: string
  coverage: Coverage | null
  /** Asked again because something changed after the approval; the call was not made. */
  isAskedAgain: boolean
  askedAt: string
  scopes: (Scope | 'tomorrow')[]
  answer?: Answer
  answerReason?: string
}

/** A grant: holds until it is revoked. */
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
  /** Ends once a run changes a file in the folder. */
  lapses: boolean
  since: string
}
