import { ownerText } from '../../domain/access/principal.ts'
import { tail } from '../../domain/id.ts'
import { checkLabel, checkLabelOf, labelFor, type Session } from '../../domain/session.ts'
import { labelsFrom } from '../../store/rows/session-lists.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { retryIfTaken, startSession } from './append.ts'
import { assertPersonaExists } from './persona-session.ts'

interface ForkInput {
  folder: string
  turnId: string
  label?: string
  /** Persona of the fork; default: the turn's. */
  personaId?: string
  /** Text form of the principal whose the fork is; the owner by default. */
  principal?: string
}

/** Starts a session at any turn. The sessions that already point there keep their heads. */
export async function fork(runtime: Runtime, input: ForkInput): Promise<Session> {
  const { folder, turnId, label, personaId, principal = ownerText } = input
  const wanted = label === undefined ? undefined : checkLabelOf(principal, checkLabel(label))
  const fresh = { sessionId: runtime.newId(), segmentId: runtime.newId() }
  const now = runtime.clock.now()
  const body = async (tx: Tx) => {
    if (personaId !== undefined) await assertPersonaExists(tx, personaId)
    const chosen = wanted ?? (await freeLabel(tx, folder, labelFor(principal, `fork-${tail(turnId)}`)))
    return startSession(tx, {
      ...fresh,
      folder,
      label: chosen,
      parentTurnId: turnId,
      principalId: principal,
      now,
      ...(personaId !== undefined && { personaId }),
    })
  }
  // A taken label is refused if the caller chose it; a generated one is generated again.
  return wanted === undefined ? retryIfTaken(runtime, 'fork', body) : runtime.store.write('fork', body)
}

/** The label itself, or the first of label-2, label-3, … that no session of the folder has. */
export async function freeLabel(rows: Reading, folder: string, label: string): Promise<string> {
  const taken = new Set(await labelsFrom(rows, folder, label))
  if (!taken.has(label)) return label
  for (let number = 2; ; number++) if (!taken.has(`${label}-${number}`)) return `${label}-${number}`
}
