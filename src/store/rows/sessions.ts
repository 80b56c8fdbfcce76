import { type Selectable, sql } from 'kysely'
import { ownerText } from '../../domain/access/principal.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { firstIdAt } from '../../domain/id.ts'
import type { Session, SessionKind } from '../../domain/session.ts'
import type { Thread } from '../../domain/turn.ts'
import type { Builder } from '../dialect.ts'
import { ConstraintViolated } from '../failures.ts'
import { raw } from '../raw.ts'
import { statement, statementOfRows } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import type { OwnedBy } from './access/own-sessions.ts'
import { configFrom, configRow } from './threads.ts'

const maxRecent = 100

type SessionRow = Selectable<Tables['sessions']>

/** Inserts a session. Its segment must exist and be written by this session only. */
export async function insertSession(tx: Tx, session: Session): Promise<void> {
  try {
    await tx.run(tx.build.insertInto('sessions').values(sessionRow(session)))
  } catch (error) {
    if (error instanceof ConstraintViolated && error.constraint === 'unique') throw labelTaken(session.label)
    throw error
  }
}

/** Inserts sessions whose labels no other can have, with the segments that they will write. */
export function insertNewSessions(
  tx: Tx,
  sessions: readonly { session: Session; below: { segmentId: string; depth: number } | null }[],
): void {
  const segments = sessions.map(({ session, below }) => segmentRow({ id: session.segmentId, below }))
  for (const query of insertSegments(segments)) tx.send(query)
  for (const query of insertSessions(sessions.map(({ session }) => sessionRow(session)))) tx.send(query)
}

/** Locks a session's row; required for moving its head. */
export async function lockSession(tx: Tx, id: string): Promise<Session | undefined> {
  tx.locking('sessions')
  const row = await tx.first(locked({ id }))
  return row && sessionFrom(row)
}

/** Locks several sessions in id order, so that two transactions cannot deadlock. */
export async function lockSessions(tx: Tx, ids: readonly string[]): Promise<Map<string, Session>> {
  tx.locking('sessions')
  const sessions = new Map<string, Session>()
  for (const query of lockedInOrder([...ids].sort().map((id) => ({ id }))))
    for (const row of await tx.all(query)) sessions.set(row.id, sessionFrom(row))
  return sessions
}

/** Locks those of the sessions that no other transaction holds: never waits. */
export async function lockFreeSessions(tx: Tx, ids: readonly string[]): Promise<Session[]> {
  tx.locking('sessions')
  const found = await Promise.all(lockedIfFree(ids.map((id) => ({ id }))).map((query) => tx.all(query)))
  return found.flat().map(sessionFrom)
}

export async function lockSessionByLabel(tx: Tx, folder: string, label: string): Promise<Session | undefined> {
  tx.locking('sessions')
  const row = await tx.first(lockedByLabel({ folder, label }))
  return row && sessionFrom(row)
}

/** Moves a session's head. `tidyAt` is when the session shall be tidied up, if this is its last turn. */
export async function moveHead(
  tx: Tx,
  { id }: Session,
  to: { headTurnId: string; now: Millis; tidyAt?: Millis | undefined },
): Promise<void> {
  const { headTurnId, now, tidyAt } = to
  tx.send(tidyAt === undefined ? setHead({ id, headTurnId, now }) : setLastHead({ id, headTurnId, now, tidyAt }))
  if (tidyAt !== undefined) tx.hint('due')
}

export async function findSessions(
  rows: Reading,
  filter: OwnedBy & { id?: string; folder?: string; label?: string; narratesId?: string } = {},
): Promise<Session[]> {
  let query = rows.build.selectFrom('sessions').selectAll().orderBy('updated_at', 'desc').orderBy('id')
  if (filter.id !== undefined) query = query.where('id', '=', filter.id)
  if (filter.folder !== undefined) query = query.where('folder', '=', filter.folder)
  if (filter.label !== undefined) query = query.where('label', '=', filter.label)
  if (filter.principal !== undefined) query = query.where('principal_id', '=', filter.principal)
  if (filter.withoutNarrator) query = query.where('kind', '<>', 'narrator')
  if (filter.narratesId !== undefined) query = query.where('narrates_id', '=', filter.narratesId)
  return (await rows.all(query)).map(sessionFrom)
}

/** Sessions of the owner that got turns of a request since a time, most recent first; optionally of one folder. */
export async function sessionsSince(rows: Reading, since: Millis, folder?: string): Promise<Session[]> {
  // Ids begin with their time: the range finds the newest turns by the primary key.
  const recent = rows.build
    .selectFrom('turns')
    .innerJoin('runs', 'runs.id', 'turns.run_id')
    .select('runs.session_id')
    .where('turns.id', '>', firstIdAt(since))
    .where('runs.depth', '=', 0)
    .where('runs.kind', '<>', 'import')
    .where('runs.lane', '<>', 'background')
  const sessions = rows.build.selectFrom('sessions').selectAll().where('principal_id', '=', ownerText)
  let query = sessions.where('id', 'in', recent)
  if (folder !== undefined) query = query.where('folder', '=', folder)
  return (await rows.all(query.orderBy('updated_at', 'desc').limit(maxRecent))).map(sessionFrom)
}

/** Sessions with a label in any folder; one index lookup per folder, since labels are indexed by folder. */
export async function sessionsWithLabel(rows: Reading, label: string): Promise<Session[]> {
  return (await rows.all(labelled({ label }))).map(sessionFrom)
}

/** Labels of sessions by their ids. */
export async function sessionLabels(rows: Reading, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(rows.build.selectFrom('sessions').select(['id', 'label']).where('id', 'in', ids))
  return new Map(found.map(({ id, label }) => [id, label]))
}

/** Folders with sessions, archived ones included. */
/** Label and folder of these sessions, by id. */
export async function sessionPlaces(
  rows: Reading,
  ids: readonly string[],
): Promise<Map<string, { label: string; folder: string }>> {
  if (ids.length === 0) return new Map()
  const sessions = rows.build.selectFrom('sessions').select(['id', 'label', 'folder'])
  const found = await rows.all(sessions.where('id', 'in', [...new Set(ids)]))
  return new Map(found.map(({ id, ...place }) => [id, place]))
}

export async function sessionFolders(rows: Reading): Promise<string[]> {
  return (await rows.all(folders({}))).map(({ folder }) => folder)
}

/** Sessions whose head is this turn: the one that wrote it, and forks that have written nothing yet. */
export async function sessionsAt(rows: Reading, thread: Thread, only: OwnedBy = {}): Promise<Session[]> {
  const { segmentId, depth, turnId } = thread
  const found = (await rows.all(pointing({ segmentId, depth, turnId }))).map(sessionFrom)
  return found.filter(
    ({ principalId, kind }) =>
      principalId === (only.principal ?? principalId) && !(only.withoutNarrator && kind === 'narrator'),
  )
}

/** Whose a session is. */
export interface SessionOwner {
  /** Text form of its principal. */
  principal: string
  kind: SessionKind
}

/** Whose these sessions are, by id. */
export async function sessionOwners(rows: Reading, ids: readonly string[]): Promise<Map<string, SessionOwner>> {
  const query = rows.build.selectFrom('sessions').select(['id', 'principal_id', 'kind']).where('id', 'in', ids)
  return new Map((await rows.all(query)).map(({ id, principal_id, kind }) => [id, { principal: principal_id, kind }]))
}

export async function renameSession(tx: Tx, session: Session, label: string, now: number): Promise<void> {
  try {
    await tx.run(tx.build.updateTable('sessions').set({ label, updated_at: now }).where('id', '=', session.id))
  } catch (error) {
    if (error instanceof ConstraintViolated && error.constraint === 'unique') throw labelTaken(label)
    throw error
  }
}

export async function setSessionPersona(tx: Tx, session: Pick<Session, 'id'>, personaId: string): Promise<void> {
  await tx.run(tx.build.updateTable('sessions').set({ persona_id: personaId }).where('id', '=', session.id))
}

export async function setSessionPrompt(tx: Tx, { id }: Pick<Session, 'id'>, hash: string | null): Promise<void> {
  await tx.run(tx.build.updateTable('sessions').set({ system_prompt_hash: hash }).where('id', '=', id))
}

/** Sets the persona of all sessions with this label that have none. */
export async function assignPersona(tx: Tx, label: string, personaId: string): Promise<void> {
  const sessions = tx.build.updateTable('sessions').set({ persona_id: personaId })
  await tx.run(sessions.where('label', '=', label).where('persona_id', 'is', null))
}

export async function setArchived(tx: Tx, session: Session, archivedAt: number | null): Promise<void> {
  await tx.run(tx.build.updateTable('sessions').set({ archived_at: archivedAt }).where('id', '=', session.id))
}

/** Lets a session go on in another segment, which only it writes; its earlier turns stay where they are. */
export async function moveToSegment(tx: Tx, session: Session): Promise<void> {
  const { segment_id, head_turn_id, updated_at } = sessionRow(session)
  const moved = { segment_id, head_turn_id, updated_at, ...configRow(session) }
  await tx.run(tx.build.updateTable('sessions').set(moved).where('id', '=', session.id))
}

/** Inserts a segment: the one row of a fork, below a turn. */
export async function insertSegment(
  tx: Tx,
  segment: { id: string; below: { segmentId: string; depth: number } | null },
): Promise<void> {
  for (const query of insertSegments([segmentRow(segment)])) tx.send(query)
}

function segmentRow({ id, below }: Parameters<typeof insertSegment>[1]): Tables['segments'] {
  return { id, parent_id: below?.segmentId ?? null, fork_depth: below?.depth ?? 0 }
}

function labelTaken(label: string): HeddleError {
  return new HeddleError(
    'label_taken',
    `there is already a session "${label}" in this folder`,
    `choose another label, or look at it: heddle log ${label}`,
  )
}

const locked = statement((db, arg: { id: string }, { lockRows }) =>
  db.selectFrom('sessions').selectAll().where('id', '=', arg.id).modifyEnd(lockRows),
)

const ofIds = (db: Builder, sessions: { id: string }[]) =>
  db
    .selectFrom('sessions')
    .selectAll()
    .where(
      'id',
      'in',
      sessions.map(({ id }) => id),
    )

const lockedIfFree = statementOfRows((db, sessions: { id: string }[], { lockFreeRows }) =>
  ofIds(db, sessions).modifyEnd(lockFreeRows),
)

const lockedInOrder = statementOfRows((db, sessions: { id: string }[], { lockRows }) =>
  ofIds(db, sessions).orderBy('id').modifyEnd(lockRows),
)

const lockedByLabel = statement((db, arg: { folder: string; label: string }, { lockRows }) =>
  db
    .selectFrom('sessions')
    .selectAll()
    .where('folder', '=', arg.folder)
    .where('label', '=', arg.label)
    .modifyEnd(lockRows),
)

/** Distinct folders by skip scan: there are far more sessions than folders. */
const withFolders = sql`WITH RECURSIVE folders (folder) AS (
          SELECT min(folder) FROM sessions
          UNION ALL
          SELECT (SELECT min(sessions.folder) FROM sessions WHERE sessions.folder > folders.folder)
          FROM folders WHERE folders.folder IS NOT NULL
        )`

const labelled = statement((db, arg: { label: string }) =>
  raw<SessionRow>(
    db,
    sql`${withFolders}
        SELECT sessions.* FROM folders CROSS JOIN sessions
        WHERE sessions.folder = folders.folder AND sessions.label = ${arg.label}
        ORDER BY updated_at DESC, id`,
  ),
)

const folders = statement((db, _: object) =>
  raw<{ folder: string }>(db, sql`${withFolders} SELECT folder FROM folders WHERE folder IS NOT NULL`),
)

const pointing = statement((db, arg: { segmentId: string; depth: number; turnId: string }) =>
  raw<SessionRow>(
    db,
    sql`SELECT * FROM sessions WHERE segment_id = ${arg.segmentId} AND head_turn_id = ${arg.turnId}
        UNION ALL
        SELECT sessions.* FROM segments CROSS JOIN sessions
        WHERE segments.parent_id = ${arg.segmentId} AND segments.fork_depth = ${arg.depth}
          AND sessions.segment_id = segments.id AND sessions.head_turn_id = ${arg.turnId}
        ORDER BY updated_at DESC, id`,
  ),
)

interface NewHead {
  id: string
  headTurnId: string
  now: number
}

const updateHead = (db: Builder, arg: NewHead) =>
  db.updateTable('sessions').set({ head_turn_id: arg.headTurnId, updated_at: arg.now }).where('id', '=', arg.id)
const setHead = statement(updateHead)
const setLastHead = statement((db, arg: NewHead & { tidyAt: number }) =>
  updateHead(db, arg).set({ tidy_at: arg.tidyAt }),
)

const insertSegments = statementOfRows((db, rows: Tables['segments'][]) =>
  db
    .insertInto('segments')
    .values(rows.map((row) => ({ id: row.id, parent_id: row.parent_id, fork_depth: row.fork_depth }))),
)

const insertSessions = statementOfRows((db, rows: SessionRow[]) =>
  db.insertInto('sessions').values(
    rows.map((row) => ({
      id: row.id,
      folder: row.folder,
      label: row.label,
      segment_id: row.segment_id,
      head_turn_id: row.head_turn_id,
      updated_at: row.updated_at,
      archived_at: row.archived_at,
      principal_id: row.principal_id,
      kind: row.kind,
      narrates_id: row.narrates_id,
      tidy_at: row.tidy_at,
      removed_at: row.removed_at,
      persona_id: row.persona_id,
      system_prompt_hash: row.system_prompt_hash,
      bound_by_json: row.bound_by_json,
    })),
  ),
)

function sessionRow(session: Session): SessionRow {
  return {
    id: session.id,
    folder: session.folder,
    label: session.label,
    segment_id: session.segmentId,
    head_turn_id: session.headTurnId,
    updated_at: session.updatedAt,
    archived_at: session.archivedAt,
    principal_id: session.principalId,
    kind: session.kind,
    narrates_id: session.narratesId,
    tidy_at: null,
    removed_at: session.removedAt,
    ...configRow(session),
  }
}

export function sessionFrom(row: SessionRow): Session {
  return {
    id: row.id,
    folder: row.folder,
    label: row.label,
    kind: row.kind,
    narratesId: row.narrates_id,
    ...configFrom(row),
    segmentId: row.segment_id,
    headTurnId: row.head_turn_id,
    updatedAt: row.updated_at,
    archivedAt: row.archived_at,
    removedAt: row.removed_at,
    principalId: row.principal_id,
  }
}
