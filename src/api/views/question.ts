import type { Part } from '../../domain/message.ts'
import type { Permissions } from '../../domain/persona.ts'
import type { Outcome, RunError } from '../../domain/run.ts'
import type { RunOptions } from '../../domain/run-options.ts'
import type { Spending } from '../../domain/spending.ts'
import type { TurnModel } from '../../domain/turn.ts'

/** An input for a session, with the options of the run that answers. */
export interface Question
  extends Omit<RunOptions, 'routedBy' | 'timeoutMs' | 'deadline' | 'ceiling' | 'permissions' | 'delegation'> {
  /** A label, `session:LABEL`, `turn:ID` or `persona:ID`. A new label starts a session. */
  session: string
  content: string
  /** Images and files; refused if the model cannot take one. */
  parts?: Part[]
  /** `steer` reaches the current run at its next step; if nothing runs, it is an ordinary message. */
  kind?: 'message' | 'steer' | 'interrupt'
  /** A turn to start a new session from. */
  from?: string
  /** The persona that the session must have; a new one starts with it. */
  persona?: string
  /** Narrows what the run, and everything that it starts, may do; it can add nothing. */
  permissions?: Permissions
  /** Max running time; 0 means no limit. */
  timeoutSeconds?: number
  dedupeKey?: string
  /** Id of the message in the system that it comes from, kept with it and shown with its turn. */
  outerRef?: string
}

/** A queued input. */
export interface SubmitResult {
  itemId: string
  /** The run that will answer, if already known. */
  runId: string | null
  session: string
  /** The session's current run, which the input waits for. */
  queuedBehind?: string
  /** The agent that the words of the message chose, and why. */
  routedTo?: { agent: string; why: string }
  /** Options that are not the sender's to choose, with the values that hold instead of those that were sent. */
  limitedTo?: Pick<Question, 'priority' | 'timeoutSeconds' | 'attended' | 'waitsForBudget'>
}

/** Answer to a request, or where it stands. */
export interface RequestAnswer {
  ok: boolean
  status: Outcome | 'accepted' | 'waiting'
  text: string
  turnId: string | null
  turns: string[]
  runId: string | null
  session: string
  folder: string
  model: TurnModel
  usage: Spending
  error?: RunError
  /** Plans that were proposed and not started when the request was over. */
  unstartedPlans?: number[]
  /** Open approvals that block all of its work; the status is `waiting` then. */
  approvals?: number[]
  /** The same with their hashes, which a yes must name. */
  questions?: { id: number; hash: string; tool: string; reason: string }[]
  /** Time at which it resumes, if the user put it off until tomorrow; the status is `waiting` then. */
  until?: string
  /** Set while no run has claimed the input: its id, and the run that it waits for. */
  itemId?: string
  queuedBehind?: string
}
