import { type RawBuilder, sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Session, SessionKind } from '../../domain/session.ts'
import type { Reading } from '../store.ts'
import type { OwnedBy } from './access/own-sessions.ts'
import { sessionFrom } from './sessions.ts'

/** Which sessions a list is about. Lists of sessions, runs and spending have no other conditions on sessions. */
export interface SessionScope extends OwnedBy {
  folder?: string
  label?: string
  kind?: SessionKind
  archived?: boolean
}

/** A part of a list: at most `limit` rows, those that follow `after`. */
export interface PageQuery<Cursor> {
  limit: number
  after?: Cursor
}

/** Position in the list of sessions: most recently used first. */
interface SessionPosition {
  updatedAt: Millis
  id: string
}

/** Conditions on the table `sessions` of a query; undefined for all sessions. */
export function sessionConditions(scope: SessionScope): RawBuilder<boolean> | undefined {
  const { folder, label, kind, archived, principal, withoutNarrator } = scope
  const conditions = [
    ...(withoutNarrator ? [sql`sessions.kind <> 'narrator'`] : []),
    ...(principal === undefined ? [] : [sql`sessions.principal_id = ${principal}`]),
    ...(folder === undefined ? [] : [sql`sessions.folder = ${folder}`]),
    ...(label === undefined ? [] : [sql`sessions.label = ${label}`]),
    ...(kind === undefined ? [] : [sql`sessions.kind = ${kind}`]),
    ...(archived === undefined
      ? []
      : [archived ? sql`sessions.archived_at IS NOT NULL` : sql`sessions.archived_at IS NULL`]),
  ]
  return conditions.length === 0 ? undefined : sql<boolean>`(${sql.join(conditions, sql` AND `)})`
}

/** Sessions with the depth of their heads, most recently used first. */
export async function listedSessions(
  rows: Reading,
  scope: SessionScope,
  { limit, after }: PageQuery<SessionPosition>,
): Promise<{ session: Session; depth: number }[]> {
  const condition = sessionConditions(scope)
  let page = rows.build.selectFrom('sessions').selectAll()
  if (condition) page = page.where(condition)
  if (after)
    page = page.where(({ or, and, eb }) =>
      or([
        eb('updated_at', '<', after.updatedAt),
        and([eb('updated_at', '=', after.updatedAt), eb('id', '>', after.id)]),
      ]),
    )
  // The heads are looked up for the page only: with a join below the LIMIT each session would be joined first.
  const found = await rows.all(
    rows.build
      .selectFrom(page.orderBy('updated_at', 'desc').orderBy('id').limit(limit).as('sessions'))
      .leftJoin('threads', 'threads.turn_id', 'sessions.head_turn_id')
      .selectAll('sessions')
      .select('threads.depth')
      .orderBy('sessions.updated_at', 'desc')
      .orderBy('sessions.id'),
  )
  return found.map(({ depth, ...row }) => ({ session: sessionFrom(row), depth: depth ?? 0 }))
}

export async function countSessions(rows: Reading, scope: SessionScope): Promise<number> {
  const condition = sessionConditions(scope)
  let query = rows.build.selectFrom('sessions').select(sql<number>`count(*)`.as('count'))
  if (condition) query = query.where(condition)
  return Number((await rows.first(query))?.count ?? 0)
}

/** Labels in a folder that a generated label must avoid: the label itself, and those that go on with `-`. */
export async function labelsFrom(rows: Reading, folder: string, label: string): Promise<string[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('sessions')
      .select('label')
      .where('folder', '=', folder)
      // '.' follows '-': the range is all that begins with the label and a dash.
      .where(({ or, and, eb }) =>
        or([eb('label', '=', label), and([eb('label', '>=', `${label}-`), eb('label', '<', `${label}.`)])]),
      ),
  )
  return found.map((row) => row.label)
}
