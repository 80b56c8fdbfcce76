import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Run } from '../../domain/run.ts'
import { narratorLabel } from '../../domain/session.ts'
import type { Builder } from '../dialect.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import { runFrom } from './run-rows.ts'

/** Takes the claim lock: only one process at a time picks the next run, so that limits hold across processes. */
export async function takeClaimLock(tx: Tx): Promise<void> {
  await tx.all(claimLock({}))
}

/** The same without waiting, for a transaction that already locks a session. False when another process holds it. */
export async function tryClaimLock(tx: Tx): Promise<boolean> {
  return (await tx.first(claimLockIfFree({})))?.held === 1
}

/** Number of queued runs, counted up to `limit`; takes no lock. */
export async function countQueued(rows: Reading, limit: number): Promise<number> {
  return (await rows.all(someQueued({ limit }))).length
}

/** Restrictions on the run to claim. */
interface QueueFilter {
  /** Skips child runs. */
  skipChildren: boolean
  /** Skips runs that crashed an owner. */
  skipSuspects: boolean
  /** Skips background runs. */
  skipBackground: boolean
  /** Only work of this session: its own runs, all runs of its requests, and its folder's narratives. */
  sessionId?: string
}

/** Next run to claim: by priority, then by the request's time, then by its own. */
export async function firstQueued(rows: Reading, filter: QueueFilter): Promise<Run | undefined> {
  const { sessionId } = filter
  const flags = {
    anyone: filter.skipChildren ? 0 : 1,
    suspects: filter.skipSuspects ? 0 : 1,
    aside: filter.skipBackground ? 0 : 1,
  }
  const row = await rows.first(
    sessionId === undefined ? queued(flags) : queuedOf({ ...flags, sessionId, telling: narratorLabel(sessionId) }),
  )
  return row && runFrom(row)
}

/**
 * Counts running runs, and among them suspects (crashed an owner before) and children. Background runs (`aside`) are
 * counted separately: they take no slot from others.
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
 * Unowned runs that are due: a retry time or a deadline has passed. A retry further away than the longest pause was
 * scheduled before the clock was set back.
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

const someQueued = statement((db, arg: { limit: number }) =>
  db.selectFrom('runs').select('id').where('state', '=', sql.lit('queued')).limit(arg.limit),
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
        // A session also runs the narrators of its folder: there may be no other process. A narrator that was started and
        // released is left to its own session or to a daemon: it may take longer than this process lives.
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
