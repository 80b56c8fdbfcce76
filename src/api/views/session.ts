import type { SessionKind } from '../../domain/session.ts'

/** A session in a list. */
export interface SessionView {
  label: string
  folder: string
  sessionKind: SessionKind
  headTurnId: string | null
  depth: number
  persona: string | null
  updatedAt: string
  archived: boolean
}

/** Result of an import. */
export interface ImportReport {
  imported: number
  skipped: number
  /** Sessions of the imported turns, under their new labels. */
  sessions: { folder: string; label: string }[]
}
