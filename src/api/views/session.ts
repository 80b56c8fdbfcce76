import type { SessionKind } from '../../domain/session.ts'
import type { PageOptions } from './page.ts'

/** A session in a list. */
export interface SessionView {
  id: string
  label: string
  folder: string
  sessionKind: SessionKind
  headTurnId: string | null
  depth: number
  persona: string | null
  updatedAt: string
  archived: boolean
}

/** All of a session. */
export interface SessionDetails extends SessionView {
  /** Personas whose permissions bind it besides its own's. */
  boundBy: readonly string[]
  /** The system prompt of its next turn, besides the runtime's; null for none. */
  ownSystemPrompt: string | null
}

/** Which sessions to list, most recently used first. Without a limit 100. */
export interface SessionFilter extends PageOptions {
  folder?: string
  label?: string
  kind?: SessionKind
  archived?: boolean
}

/** Result of an import. */
export interface ImportReport {
  imported: number
  skipped: number
  /** Sessions of the imported turns, under their new labels. */
  sessions: { folder: string; label: string }[]
}
