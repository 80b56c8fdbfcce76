import type { Builder } from '../../dialect.ts'

/** Filter of a list: only what belongs to sessions of this principal; without it, everything. */
export interface OwnedBy {
  /** Text form of the principal. */
  principal?: string
  /** Leaves out the narrator's sessions, which are private to the owner. */
  withoutNarrator?: true
}

/** Ids of the narrator's sessions, as a subquery. */
export function narratorSessions(build: Builder) {
  return build.selectFrom('sessions').select('sessions.id').where('sessions.kind', '=', 'narrator')
}

/** Ids of a principal's sessions, as a subquery: what belongs to a session is listed for its principal only. */
export function ownSessions(build: Builder, principal: string) {
  return build.selectFrom('sessions').select('sessions.id').where('sessions.principal_id', '=', principal)
}
