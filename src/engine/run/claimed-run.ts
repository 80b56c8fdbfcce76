import type { RunAccess } from '../../domain/access/principal.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import type { Persona } from '../../domain/persona.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { Claim } from '../../store/rows/runs.ts'

/** A run that this process owns until it ends, parks, or loses its lease. */
export interface ClaimedRun {
  claim: Claim
  run: Run
  session: Session
  persona: Persona | null
  /** The own system prompt of its thread; null without one. */
  threadPrompt: string | null
  /** Rights of the run's principal. */
  access: RunAccess
  /** Inputs that this run answers, in order of arrival. */
  items: InboxItem[]
  /** The model call whose budget was reserved together with the claim. */
  reserved: number | undefined
}

/** The worker that claims, and the session it limits itself to. */
export interface Claimant {
  ownerId: string
  sessionId?: string
}
