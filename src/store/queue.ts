import { sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import type { Run } from '../domain/run.ts'
import { tellingLabel } from '../domain/session.ts'
import type { Builder } from './dialect.ts'
import { raw } from './raw.ts'
import { runFrom } from './run-rows.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** Only one process at a time chooses what to run next, so that limits hold over all of them. */
export async function holdClaimLock(tx: Tx): Promise<void> {
  await tx.all(claimLock({}))
}

/** The same for a transaction that already holds a session: it must not wait. False when another process chooses now. */
export async function tryClaimLock(tx: Tx): Promise<boolean> {
  return (await tx.first(claimLockIfFree({})))?.held === 1
}

/** How many there are to choose from, counted no further than this: a look that costs no lock. */
export async function countQueued(rows: Reading, most: number): Promise<number> {
  return (await rows.all(someQueued({ most }))).length
}

/** What may not be chosen, and whose work alone is meant. */
export interface QueueFilter {
  /** Leaves out runs that work for another. */
  parents: boolean
  /** Leaves out runs that took an owner down. */
  innocent: boolean
  /** Leaves out what nobody asked for. */
  asked: boolean
  /** Only this session's work: its own runs, all that its requests began elsewhere, and its folder's narratives. */
  sessionId?: string
}

/** The run that is claimed next: by priority, then the request's time, then its own. */
export async function firstQueued(rows: Reading, filter: QueueFilter): Promise<Run | undefined> {
  const { sessionId } = filter
  const flags = { anyone: filter.parents ? 0 : 1, suspects: filter.innocent ? 0 : 1, aside: filter.asked ? 0 : 1 }
  const row = await rows.first(
    sessionId === undefined ? queued(flags) : queuedOf({ ...flags, sessionId, telling: tellingLabel(sessionId) }),
  )
  return row && runFrom(row)
}

/**
 * What holds a slot: all of it, those that took an owner down before, and those that work for another run. What nobody
 * asked for is counted apart: nobody waits for a slot because of it.
 */
export async function countRunning(
  rows: Reading,
): Promise<{ running: number; suspects: number; children: number; aside: number }> {
  const row = await rows.first(running({}))
  return {
    running: Number(row?.running ?? 0),
    suspects: Number(row?.suspects ?? 0),
    children: Number(row?.children ?? 0),
    aside: Number(row?.aside ?? 0),
  }
}

/**
 * Runs that nobody has and whose time has come: a retry that is due, or a deadline that has passed. A retry that lies
 * further away than any pause is long was made before the clock was set back.
 */
export async function dueRuns(rows: Reading, now: Millis, longestPause: Millis): Promise<Run[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('runs')
      .selectAll()
      .where('finished_at', 'is', null)
      .where('owner_id', 'is', null)
      .where((where) =>
        where.or([
          where.and([where('state', '=', 'waiting'), where('wake_at', '<=', now)]),
          where.and([where('waiting_for', '=', 'retry'), where('wake_at', '>', now + longestPause)]),
          where('deadline', '<=', now),
        ]),
      ),
  )
  return found.map(runFrom)
}

const inOrder = (db: Builder, arg: { anyone: number; suspects: number; aside: number }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('state', '=', sql.lit('queued'))
    .where(sql<boolean>`(${arg.anyone} = 1 OR parent_run_id IS NULL)`)
    .where(sql<boolean>`(${arg.suspects} = 1 OR crashes = 0)`)
    .where(sql<boolean>`(${arg.aside} = 1 OR via <> 'narrator')`)
    .orderBy('priority', 'desc')
    .orderBy('requested_at')
    .orderBy('created_at')
    .orderBy('id')
    .limit(sql.lit(1))

const someQueued = statement((db, arg: { most: number }) =>
  db.selectFrom('runs').select('id').where('state', '=', sql.lit('queued')).limit(arg.most),
)

const queued = statement(inOrder)

const queuedOf = statement(
  (db, arg: { anyone: number; suspects: number; aside: number; sessionId: string; telling: string }) =>
    inOrder(db, arg).where(({ or, eb, exists, selectFrom }) =>
      or([
        eb('session_id', '=', arg.sessionId),
        exists(
          selectFrom('runs as root')
            .select('root.id')
            .whereRef('root.id', '=', 'runs.root_run_id')
            .where('root.session_id', '=', arg.sessionId),
        ),
        // Whoever works in a folder tells where its talks stand, too: there may be nobody else. What was begun and given
        // back is left to its own talk, or to somebody who stays: it may take longer than this process does.
        eb.and([
          eb('via', '=', sql.lit('narrator')),
          exists(
            selectFrom('sessions as aside')
              .innerJoin('sessions as talk', 'talk.folder', 'aside.folder')
              .select('aside.id')
              .whereRef('aside.id', '=', 'runs.session_id')
              .where('talk.id', '=', arg.sessionId)
              .where(sql<boolean>`(runs.epoch <= runs.crashes OR aside.label = ${arg.telling})`),
          ),
        ]),
      ]),
    ),
)

const claimLock = statement((db, _arg: object, dialect) => raw<object>(db, dialect.claimLock))
const claimLockIfFree = statement((db, _arg: object, dialect) => raw<{ held: number }>(db, dialect.tryClaimLock))

const running = statement((db, _arg: object) =>
  raw<{ running: number; suspects: number; children: number; aside: number }>(
    db,
    sql`SELECT coalesce(sum(CASE WHEN via <> 'narrator' THEN 1 ELSE 0 END), 0) AS running,
               coalesce(sum(CASE WHEN via = 'narrator' THEN 1 ELSE 0 END), 0) AS aside,
               coalesce(sum(CASE WHEN crashes > 0 THEN 1 ELSE 0 END), 0) AS suspects,
               coalesce(sum(CASE WHEN parent_run_id IS NOT NULL THEN 1 ELSE 0 END), 0) AS children
        FROM runs WHERE owner_id IS NOT NULL`,
  ),
)
