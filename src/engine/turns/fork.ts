import { tail } from '../../domain/id.ts'
import { checkLabel, type Session } from '../../domain/session.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Tx } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { retryIfTaken, startSession } from './append.ts'
import { assertPersonaExists } from './persona-session.ts'

interface ForkInput {
  folder: string
  turnId: string
  label?: string
  /** Persona of the fork; default: the turn's. */
  personaId?: string
}

/** Starts a session at any turn. The sessions that already point there keep their heads. */
export async function fork(runtime: Runtime, { folder, turnId, label, personaId }: ForkInput): Promise<Session> {
  const wanted = label === undefined ? undefined : checkLabel(label)
  const fresh = { sessionId: runtime.newId(), segmentId: runtime.newId() }
  const now = runtime.clock.now()
  const body = async (tx: Tx) => {
    if (personaId !== undefined) await assertPersonaExists(tx, personaId)
    const chosen = wanted ?? freeLabel(`fork-${tail(turnId)}`, await findSessions(tx, { folder }))
    return startSession(tx, {
      ...fresh,
      folder,
      label: chosen,
      parentTurnId: turnId,
      now,
      ...(personaId !== undefined && { personaId }),
    })
  }
  // A taken label is refused if the caller chose it; a generated one is generated again.
  return wanted === undefined ? retryIfTaken(runtime, 'fork', body) : runtime.store.write('fork', body)
}

/** The label itself, or the first of label-2, label-3, … that no session has. */
export function freeLabel(label: string, sessions: Session[]): string {
  const taken = new Set(sessions.map((session) => session.label))
  if (!taken.has(label)) return label
  for (let number = 2; ; number++) if (!taken.has(`${label}-${number}`)) return `${label}-${number}`
}
