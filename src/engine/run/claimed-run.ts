import type { Ceiling } from '../../domain/access/ceiling.ts'
import type { RunAccess } from '../../domain/access/principal.ts'
import type { Millis } from '../../domain/clock.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import type { ToolSpec } from '../../domain/model.ts'
import type { Permissions, Persona } from '../../domain/persona.ts'
import type { ProfileVersion, Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { Thread } from '../../domain/turn.ts'
import type { Claim } from '../../store/rows/runs.ts'
import type { ChosenModel } from '../model/choose-model.ts'
import type { AgentRole } from '../model/role.ts'
import type { RunPolicies } from '../policies/run-policies.ts'
import type { KeyedQueue } from './keyed-queue.ts'

/** Limits of a run's profile. */
export interface ProfileLimits {
  /** Max running time. */
  timeoutMs?: Millis
  /** Max tokens of a reply. */
  maxTokens?: number
}

/** Identity and rights of a run, fixed for the whole claim. */
export interface Actor {
  /** Name of its agent. */
  agent: string
  role: AgentRole
  persona: Persona | null
  /** Permissions of its persona, of those that bind its thread, and those that came with its inputs: all of them hold. */
  permissions: readonly Permissions[]
  /** Rights of its principal. */
  access: RunAccess
  /** Agents that work can be delegated to, and the profile that is pinned. */
  policies: RunPolicies
  /** The most that it and everything below it may have. */
  ceiling: Ceiling
  /** Its profile, of which it keeps this version; null without one. */
  profile: ProfileVersion | null
  /** What its profile adds to its system prompt; null if that has it already, or there is nothing. */
  profilePrompt: string | null
  limits: ProfileLimits
  model: ChosenModel
  /** Its tools as its model sees them. */
  tools: ToolSpec[]
}

/** A run that this process owns until it ends, parks, or loses its lease. */
export interface ClaimedRun {
  claim: Claim
  run: Run
  session: Session
  /** The thread at its session's head; undefined while that has no turn. */
  head: Thread | undefined
  actor: Actor
  /** The own system prompt of its thread; null without one. */
  threadPrompt: string | null
  /** Inputs that this run answers, in order of arrival. */
  items: InboxItem[]
  /** The model call whose budget was reserved together with the claim. */
  reserved: number | undefined
  /** The label of its requester's session, if it was claimed in the commit that started it. */
  requester?: string
}

/** Next run and state of the queue after the end of a run. */
export interface QueueAfterRun {
  /** The run that its end has claimed. */
  next: ClaimedRun | undefined
  /** Whether no run was queued then, so that there is none to look for. */
  isQueueEmpty: boolean
}

/** The worker that claims, and the session it limits itself to. */
export interface Claimant {
  workerId: string
  sessionId?: string
}

/** The worker, as far as an executing run needs it. */
export interface WorkerHandle {
  /** Aborts with a Stop when the run must end here. */
  signal: AbortSignal
  /** Executes a run that was claimed in a commit of this one. */
  start(claimed: ClaimedRun): void
  /** Whether, by this process's clock, other workers may soon consider it dead. */
  leaseAtRisk(): boolean
  /** The claimant for the follow-up run; undefined while this process takes no new work. */
  claimant(): Claimant | undefined
  /** Serialises changes to the same file across the runs of this process, so that none replaces content it has not read. */
  fileQueue?: KeyedQueue
}
