import { rankOf } from '../../domain/access/authorize.ts'
import { owner, type Principal, principalText } from '../../domain/access/principal.ts'
import { checkLabel, checkLabelOf, type Session } from '../../domain/session.ts'
import type { Tx } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { retryIfTaken, startSession } from './append.ts'
import { assertPersonaExists } from './persona-session.ts'
import { storeSystemPrompt } from './system-prompt.ts'
import { forkLabel, freeLabel } from './target.ts'

interface ForkInput {
  folder: string
  turnId: string
  label?: string
  /** Persona of the fork; default: the turn's. */
  personaId?: string
  /** System prompt of the fork, null for none; default: the turn's. */
  systemPrompt?: string | null
  /** Whose the fork is; the owner by default. */
  principal?: Principal
}

/** Starts a session at any turn. The sessions that already point there keep their heads. */
export async function fork(runtime: Runtime, input: ForkInput): Promise<Session> {
  const { folder, turnId, label, personaId, systemPrompt, principal = owner } = input
  const principalId = principalText(principal)
  const wanted = label === undefined ? undefined : checkLabelOf(principalId, checkLabel(label))
  const fresh = { sessionId: runtime.newId(), segmentId: runtime.newId() }
  const now = runtime.clock.now()
  const body = async (tx: Tx) => {
    if (personaId !== undefined) await assertPersonaExists(tx, personaId)
    const chosen = wanted ?? (await freeLabel(tx, folder, forkLabel(turnId, principalId)))
    const own = systemPrompt === undefined ? {} : await storeSystemPrompt(tx, systemPrompt)
    return startSession(tx, {
      ...fresh,
      folder,
      label: chosen,
      parentTurnId: turnId,
      principalId,
      rank: rankOf(principal),
      now,
      ...(personaId !== undefined && { personaId }),
      ...own,
    })
  }
  // A taken label is refused if the caller chose it; a generated one is generated again.
  return wanted === undefined ? retryIfTaken(runtime, 'fork', body) : runtime.store.write('fork', body)
}
