import type { Rank } from '../../domain/access/actions.ts'
import { rankOf } from '../../domain/access/authorize.ts'
import { owner, type Principal, principalText } from '../../domain/access/principal.ts'
import type { WriteArea } from '../../domain/crash-points.ts'
import type { TurnDraft } from '../../domain/draft.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { Label } from '../../domain/label.ts'
import { checkLabelOf, type Session, type SessionKind } from '../../domain/session.ts'
import type { Thread, ThreadConfig } from '../../domain/turn.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { liveRunOf } from '../../store/rows/runs.ts'
import { ownerIn } from '../../store/rows/search/documents.ts'
import { insertSegment, insertSession, moveHead, moveToSegment } from '../../store/rows/sessions.ts'
import { findThread, insertPlacedTurn } from '../../store/rows/threads.ts'
import type { Tx } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { makeTurn, writeJournal } from './make-turn.ts'
import { personaOfLabel } from './persona-session.ts'
import { findTarget } from './target.ts'

interface AppendInput {
  folder: string
  /** A label, `session:LABEL`, `turn:ID` or `persona:ID`. */
  label: string
  draft: TurnDraft
  /** Required parent: a new session starts there; an existing one must have it as its head. */
  parentTurnId?: string
  /** Persona of a new session; an existing session must already have it. */
  personaId?: string
  /** Who adds it, and whose a new session is; the owner by default. */
  principal?: Principal
  /** What the words of the principal that adds it count; as the owner's by default. */
  trust?: Label
}

interface Appended {
  turnId: string
  session: Session
  depth: number
}

/** Adds a hand-made turn to a session; starts the session if the label is new. */
export async function append(runtime: Runtime, input: AppendInput): Promise<Appended> {
  const { folder, principal = owner } = input
  const [principalId, rank] = [principalText(principal), rankOf(principal)]
  const made = makeTurn(runtime, input.draft, input.trust)
  const fresh = { sessionId: runtime.newId(), segmentId: runtime.newId() }
  const now = made.content.timestamp
  const body = async (tx: Tx): Promise<Appended> => {
    const { session: existing, ...start } = await findTarget(tx, { ...input, target: input.label }, principal)
    if (existing) assertTakesInput(existing)
    const session = existing ?? (await startSession(tx, { folder, principalId, rank, ...start, ...fresh, now }))
    if (await liveRunOf(tx, session.id)) throw sessionBusy(session)
    if (input.parentTurnId !== undefined && session.headTurnId !== input.parentTurnId) throw notHead(session)
    const parent = session.headTurnId === null ? null : await requireThread(tx, session.headTurnId)
    const place = { sessionId: session.id, parent, principal: principalId }
    const turn = await writeJournal(tx, made, place)
    const spot = { segmentId: session.segmentId, parent, config: session, owner: ownerIn(session) }
    const { depth } = await insertPlacedTurn(tx, spot, turn)
    await moveHead(tx, session, { headTurnId: turn.id, now })
    await recordEvent(tx, {
      at: now,
      kind: 'turn.added',
      subject: `turn:${turn.id}`,
      payload: { session: session.label, folder, depth },
      scope: { sessionId: session.id, rootRunId: turn.runId },
    })
    return { turnId: turn.id, session: { ...session, headTurnId: turn.id, updatedAt: now }, depth }
  }
  return retryIfTaken(runtime, 'append', body)
}

/**
 * Retries a write once when a label or key is taken: another process may have inserted it between our read and our write,
 * and the second attempt finds it.
 */
export async function retryIfTaken<T>({ store }: Runtime, area: WriteArea, body: (tx: Tx) => Promise<T>): Promise<T> {
  return store.write(area, body).catch((error) => {
    if (isTaken(error)) return store.write(area, body)
    throw error
  })
}

function isTaken(error: unknown): boolean {
  return error instanceof HeddleError && (error.code === 'label_taken' || error.code === 'key_taken')
}

interface NewSession extends Partial<Pick<ThreadConfig, 'systemPromptHash' | 'boundBy'>> {
  sessionId: string
  segmentId: string
  folder: string
  label: string
  parentTurnId?: string
  personaId?: string
  /** Whose session it is. */
  principalId: string
  /** Rank of the principal that starts it: a fork with another persona keeps the limits of the first unless an operator makes it. */
  rank?: Rank
  /** Default: a person's, which cannot have a label of the runtime. */
  kind?: Exclude<SessionKind, 'narrator'>
  /** The session that the new one summarises; it is then the narrator's. */
  narratesId?: string
  now: number
}

/** Inserts a session, at a turn or at the root, and the segment it will write. */
export async function startSession(tx: Tx, start: NewSession): Promise<Session> {
  const { session, below } = await newSession(tx, start)
  await insertSegment(tx, { id: session.segmentId, below })
  await insertSession(tx, session)
  // The run that it is made for names it.
  if (session.kind === 'agent') return session
  await recordEvent(tx, {
    at: start.now,
    kind: 'session.created',
    subject: `session:${start.label}`,
    payload: { folder: start.folder, headTurnId: session.headTurnId },
    scope: { sessionId: session.id, rootRunId: null },
  })
  return session
}

/** A new session that is not stored yet, and the turn it starts at. The only way to one. */
export async function newSession(tx: Tx, start: NewSession): Promise<{ session: Session; below: Thread | null }> {
  const kind = start.narratesId === undefined ? (start.kind ?? 'person') : 'narrator'
  if (kind === 'person') checkLabelOf(start.principalId, start.label)
  const below = start.parentTurnId === undefined ? null : await requireThread(tx, start.parentTurnId)
  const session: Session = {
    id: start.sessionId,
    folder: start.folder,
    label: start.label,
    kind,
    narratesId: start.narratesId ?? null,
    segmentId: start.segmentId,
    headTurnId: below?.turnId ?? null,
    personaId: start.personaId ?? below?.personaId ?? (await personaOfLabel(tx, start.label)),
    systemPromptHash: start.systemPromptHash === undefined ? (below?.systemPromptHash ?? null) : start.systemPromptHash,
    boundBy: start.boundBy ?? (below ? boundByOf(below, start) : []),
    updatedAt: start.now,
    archivedAt: null,
    removedAt: null,
    principalId: start.principalId,
  }
  return { session, below }
}

/**
 * Restarts an idle session under its label, at a turn or at the root. The turns that it wrote before stay, and can be
 * addressed by their ids.
 */
export async function restartSession(
  tx: Tx,
  session: Session,
  fresh: Pick<NewSession, 'segmentId' | 'parentTurnId' | 'now'>,
): Promise<Session> {
  const below = fresh.parentTurnId === undefined ? null : await requireThread(tx, fresh.parentTurnId)
  const moved: Session = {
    ...session,
    segmentId: fresh.segmentId,
    headTurnId: below?.turnId ?? null,
    updatedAt: fresh.now,
    // As a new session at that turn would have them.
    ...(below && {
      personaId: below.personaId,
      systemPromptHash: below.systemPromptHash,
      boundBy: below.boundBy,
    }),
  }
  await insertSegment(tx, { id: fresh.segmentId, below })
  await moveToSegment(tx, moved)
  return moved
}

/** Personas that bind a thread below this one: with another persona those of both, unless an operator starts it. */
function boundByOf(below: ThreadConfig, { personaId, rank = 'public' }: NewSession): readonly string[] {
  if (personaId === undefined || personaId === below.personaId) return below.boundBy
  if (rank !== 'public') return []
  const before = below.personaId === null ? below.boundBy : [...below.boundBy, below.personaId]
  return [...new Set(before)].filter((id) => id !== personaId)
}

/**
 * Refuses input to the narrator's sessions, which are told of the session that they summarise, and to those whose transcript
 * was removed: an answer would not know what was said.
 */
export function assertTakesInput({ kind, label, removedAt }: Session): void {
  if (removedAt !== null)
    throw new UsageError(
      `the transcript of session "${label}" was removed after its result was read`,
      'choose another session; heddle subagent show still has the result',
      'session_removed',
    )
  if (kind === 'narrator')
    throw new UsageError(`session "${label}" belongs to the narrator`, 'choose another session', 'bad_label')
}

async function requireThread(tx: Tx, turnId: string): Promise<Thread> {
  const thread = await findThread(tx, turnId)
  if (!thread) throw new HeddleError('not_found', `there is no turn ${turnId}`, 'list the turns with: heddle log --all')
  return thread
}

function sessionBusy({ label }: Session): HeddleError {
  return new HeddleError(
    'session_busy',
    `a run is active in session "${label}"`,
    'wait for it (heddle ps), stop it (heddle cancel), or add to another session',
    { retry: 'later' },
  )
}

function notHead(session: Session): HeddleError {
  return new HeddleError(
    'not_head',
    session.headTurnId
      ? `the head of session "${session.label}" is turn:${session.headTurnId}`
      : `session "${session.label}" has no turn yet`,
    'append without --parent to follow that head, or give a new label to start a session from the turn',
  )
}
