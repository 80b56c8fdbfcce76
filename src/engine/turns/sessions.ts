import { checkLimit, cursorFrom, type ListPage, positionOfCursor } from '../../api/views/page.ts'
import type { SessionDetails, SessionFilter, SessionView } from '../../api/views/session.ts'
import { authorize, rankOf } from '../../domain/access/authorize.ts'
import { type Principal, principalText } from '../../domain/access/principal.ts'
import { UsageError } from '../../domain/errors.ts'
import type { EventKind } from '../../domain/event.ts'
import { mainSessionOf, type Persona, personaPattern } from '../../domain/persona.ts'
import { checkLabel, checkLabelOf, checkUserLabel, isReservedWord, type Session } from '../../domain/session.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { putPersona } from '../../store/rows/personas.ts'
import { listedSessions } from '../../store/rows/session-lists.ts'
import {
  assignPersona,
  findSessions,
  lockSession,
  renameSession,
  setArchived,
  setSessionPrompt,
} from '../../store/rows/sessions.ts'
import { findThread } from '../../store/rows/threads.ts'
import { promptText } from '../../store/rows/turns.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { assertTakesInput, retryIfTaken, startSession } from './append.ts'
import { notFound, resolveSession } from './route.ts'
import { storeSystemPrompt } from './system-prompt.ts'
import { findTarget } from './target.ts'

const defaultSessions = 100

/** Sessions, most recently used first, by one statement. */
export async function listSessions(
  rows: Reading,
  { limit = defaultSessions, after, ...scope }: OwnedBy & SessionFilter = {},
): Promise<ListPage<SessionView>> {
  const [updatedAt, id] = after === undefined ? [] : positionOfCursor(after)
  const position = updatedAt === undefined || id === undefined ? undefined : { updatedAt, id }
  const page = { limit: checkLimit(limit) + 1, ...(position && { after: position }) }
  const found = await listedSessions(rows, scope, page)
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1)?.session : undefined
  return {
    rows: shown.map(({ session, depth }) => sessionView(session, depth)),
    ...(last && { next: cursorFrom([last.updatedAt, last.id]) }),
  }
}

async function viewSession(rows: Reading, session: Session): Promise<SessionView> {
  const head = session.headTurnId === null ? undefined : await findThread(rows, session.headTurnId)
  return sessionView(session, head?.depth ?? 0)
}

/** A session with its system prompt. */
export async function viewSessionDetails(rows: Reading, session: Session): Promise<SessionDetails> {
  const { systemPromptHash, boundBy } = session
  const ownSystemPrompt = systemPromptHash === null ? undefined : await promptText(rows, systemPromptHash)
  return { ...(await viewSession(rows, session)), boundBy, ownSystemPrompt: ownSystemPrompt ?? null }
}

function sessionView(session: Session, depth: number): SessionView {
  return {
    id: session.id,
    label: session.label,
    folder: session.folder,
    sessionKind: session.kind,
    headTurnId: session.headTurnId,
    depth,
    persona: session.personaId,
    updatedAt: new Date(session.updatedAt).toISOString(),
    archived: session.archivedAt !== null,
  }
}

export function rename(runtime: Runtime, folder: string, name: string, label: string): Promise<SessionView> {
  const wanted = checkLabel(label)
  if (!wanted.startsWith('user:')) checkUserLabel(wanted)
  return change(runtime, folder, name, 'session.renamed', { label: wanted }, (tx, session) => {
    assertTakesInput(session)
    checkLabelOf(session.principalId, wanted)
    return renameSession(tx, session, wanted, runtime.clock.now())
  })
}

/** Archives or restores a session. Archived sessions keep every turn; they only leave the list. */
export function archive(runtime: Runtime, folder: string, name: string, archived: boolean): Promise<SessionView> {
  const kind = archived ? 'session.archived' : 'session.restored'
  return change(runtime, folder, name, kind, {}, (tx, session) =>
    setArchived(tx, session, archived ? runtime.clock.now() : null),
  )
}

/** Sets a session's own system prompt; a new label starts a session, so that its first turn has it. */
export function setSystemPrompt(
  runtime: Runtime,
  {
    folder,
    session: target,
    text,
    principal,
  }: { folder: string; session: string; text: string | null; principal: Principal },
): Promise<SessionDetails> {
  const now = runtime.clock.now()
  const fresh = { sessionId: runtime.newId(), segmentId: runtime.newId() }
  const principalId = principalText(principal)
  return retryIfTaken(runtime, 'session', async (tx) => {
    const { session: existing, ...start } = await findTarget(tx, { folder, target }, principal)
    if (existing) assertTakesInput(existing)
    if (existing && !authorize(principal, 'session.configure', { principal: existing.principalId }))
      throw notFound('session', start.label)
    const own = await storeSystemPrompt(tx, text)
    if (!existing)
      return viewSessionDetails(
        tx,
        await startSession(tx, { folder, principalId, rank: rankOf(principal), ...start, ...own, ...fresh, now }),
      )
    await setSessionPrompt(tx, existing, own.systemPromptHash)
    await recordEvent(tx, {
      at: now,
      kind: 'session.configured',
      subject: `session:${existing.label}`,
      payload: { folder: existing.folder, systemPrompt: text !== null },
      scope: { sessionId: existing.id, rootRunId: null },
    })
    return viewSessionDetails(tx, { ...existing, ...own })
  })
}

export async function setPersona(runtime: Runtime, persona: Persona): Promise<void> {
  if (!personaPattern.test(persona.id))
    throw new UsageError(
      `"${persona.id}" cannot be a persona's id`,
      'use 1 to 32 small letters, digits, _ and -, beginning with a letter or digit',
      'bad_persona',
    )
  if (isReservedWord(persona.id))
    throw new UsageError(
      `"${persona.id}" cannot be a persona's id: labels that begin with ${persona.id}: are Heddle's own`,
      `choose another id, such as my-${persona.id}`,
      'bad_persona',
    )
  await runtime.store.write('persona', async (tx) => {
    await putPersona(tx, persona, runtime.clock.now())
    await assignPersona(tx, mainSessionOf(persona.id), persona.id)
  })
}

async function change(
  runtime: Runtime,
  folder: string,
  name: string,
  kind: EventKind,
  payload: Record<string, unknown>,
  act: (tx: Tx, session: Session) => Promise<void>,
): Promise<SessionView> {
  return runtime.store.write('session', async (tx) => {
    const { id } = await resolveSession(tx, name, folder)
    const session = await lockSession(tx, id)
    if (!session) throw notFound('session', name)
    await act(tx, session)
    await recordEvent(tx, {
      at: runtime.clock.now(),
      kind,
      subject: `session:${session.label}`,
      payload: { folder: session.folder, ...payload },
      scope: { sessionId: session.id, rootRunId: null },
    })
    const [after] = await findSessions(tx, { id })
    return viewSession(tx, after ?? session)
  })
}
