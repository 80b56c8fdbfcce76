import { HeddleError } from '../../domain/errors.ts'
import { personaOfMain } from '../../domain/persona.ts'
import type { Session } from '../../domain/session.ts'
import { findPersona } from '../../store/rows/personas.ts'
import { setSessionPersona } from '../../store/rows/sessions.ts'
import type { Reading, Tx } from '../../store/store.ts'

/** The persona whose main session has this label; null for any other label. */
export async function personaOfLabel(rows: Reading, label: string): Promise<string | null> {
  const id = personaOfMain(label)
  return id !== undefined && (await findPersona(rows, id)) ? id : null
}

/**
 * Assigns a persona to its main session if that has none: the session may be older than the persona, or have been renamed.
 * A session that has a persona keeps it.
 */
export async function assignMainPersona(tx: Tx, session: Session): Promise<Session> {
  if (session.personaId !== null) return session
  const personaId = await personaOfLabel(tx, session.label)
  if (personaId === null) return session
  await setSessionPersona(tx, session, personaId)
  return { ...session, personaId }
}

export async function assertPersonaExists(rows: Reading, id: string): Promise<void> {
  if (!(await findPersona(rows, id))) throw noPersona(id)
}

export function noPersona(id: string): HeddleError {
  return new HeddleError(
    'not_found',
    `there is no persona "${id}"`,
    `make it with: heddle personas set ${id} --name NAME`,
  )
}
