import { tail } from '../domain/id.ts'
import { checkLabel, type Session } from '../domain/session.ts'
import { findSessions } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { startSession, writeAgainIfTaken } from './append.ts'
import { mustHavePersona } from './persona-session.ts'
import type { World } from './world.ts'

export interface ForkInput {
  folder: string
  turnId: string
  label?: string
  /** The owner may hand the fork to another persona; otherwise it keeps the turn's. */
  personaId?: string
}

/** Starts a session at any turn. The sessions that already point there keep their heads. */
export async function fork(world: World, { folder, turnId, label, personaId }: ForkInput): Promise<Session> {
  const wanted = label === undefined ? undefined : checkLabel(label)
  const fresh = { sessionId: world.newId(), segmentId: world.newId() }
  const now = world.clock.now()
  const body = async (tx: Tx) => {
    if (personaId !== undefined) await mustHavePersona(tx, personaId)
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
  // Asked for by name, a taken label is refused; a label of our own choosing is chosen again.
  return wanted === undefined ? writeAgainIfTaken(world, 'fork', body) : world.store.write('fork', body)
}

/** The label itself, or the first of label-2, label-3, … that no session has. */
export function freeLabel(label: string, sessions: Session[]): string {
  const taken = new Set(sessions.map((session) => session.label))
  if (!taken.has(label)) return label
  for (let number = 2; ; number++) if (!taken.has(`${label}-${number}`)) return `${label}-${number}`
}
