import { type RawBuilder, sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'

/**
 * Opens a join ("wake this session when all of these have ended") over all children of a run, or some of them; sessions that are done already count as done. Tasks are not
 * joined: their plan wakes the session. The session's row must be locked: that lock guards its joins, too.
 */
export async function insertJoin(
  tx: Tx,
  join: { id: string; sessionId: string; rootRunId: string; createdAt: Millis },
  parentRunId: string,
  only?: readonly string[],
): Promise<void> {
  await tx.run(
    tx.build.insertInto('joins').values({
      id: join.id,
      session_id: join.sessionId,
      root_run_id: join.rootRunId,
      fired_at: null,
      created_at: join.createdAt,
      run_id: parentRunId,
    }),
  )
  const from = { joinId: join.id, parentRunId, now: join.createdAt }
  if (only === undefined) await tx.run(insertMembers(from))
  else for (const runId of only) await tx.run(insertMember({ ...from, runId }))
}

/** Marks a session as done for the join that waits for it, if any; `isMet` tells whether it was the last one. */
export async function finishMember(
  tx: Tx,
  sessionId: string,
  at: Millis,
): Promise<{ joinId: string; isMet: boolean } | undefined> {
  const row = await tx.first(doneWith({ sessionId, at }))
  return row && { joinId: row.join_id, isMet: row.others === 0 }
}

/** Whether this session waits for a join. */
export async function hasOpenJoin(rows: Reading, sessionId: string): Promise<boolean> {
  return (await rows.first(openIn({ sessionId }))) !== undefined
}

/** Whether a session still works for its parent. Messages that people send to it directly do not count. */
export async function isWorkingForParent(rows: Reading, sessionId: string): Promise<boolean> {
  return (await rows.first(openWork({ sessionId }))) !== undefined
}

/** Number of sessions that work for this one: with an unfinished run, or an open join. Tasks of plans do not count. */
export async function countLiveChildren(rows: Reading, sessionId: string): Promise<number> {
  return Number((await rows.first(liveChildren({ sessionId })))?.count ?? 0)
}

/** Whether a run started children whose end wakes its session: not tasks, and not isolated ones. */
export async function hasJoinedChildren(rows: Reading, parentRunId: string): Promise<boolean> {
  return (await rows.first(joinedChildren({ parentRunId }))) !== undefined
}

/** Whether this run's join is open. */
export async function isWaitingForChildren(rows: Reading, runId: string): Promise<boolean> {
  return (await rows.first(openBy({ runId }))) !== undefined
}

/** Closes the join of a run without waking its session; returns whether there was one. */
export async function closeJoin(tx: Tx, runId: string, at: Millis): Promise<boolean> {
  return (await tx.run(close({ runId, at }))) > 0
}

/** Fires a join once all its members are done; false when they are not, or when it has fired already. */
export async function fireJoin(tx: Tx, joinId: string, at: Millis): Promise<boolean> {
  return (await tx.run(fire({ joinId, at }))) === 1
}

interface Members {
  joinId: string
  parentRunId: string
  now: number
}

// One statement for any number of members, so that no session can change state in between.
const insertMembers = statement((db, arg: Members) =>
  raw<object>(
    db,
    sql`${membersOf(arg)} WHERE child.parent_run_id = ${arg.parentRunId} AND ${isJoined}
        GROUP BY child.session_id`,
  ),
)

const insertMember = statement((db, arg: Members & { runId: string }) =>
  raw<object>(
    db,
    sql`${membersOf(arg)} WHERE child.parent_run_id = ${arg.parentRunId} AND child.id = ${arg.runId}
        GROUP BY child.session_id`,
  ),
)

/** Isolated children report to no run: their results are read on demand. */
const isJoined = sql`child.kind <> 'task' AND (child.share_mode IS NULL OR child.share_mode <> 'isolated')`

const membersOf = ({ joinId, now }: Members) => sql`
  INSERT INTO join_members (run_id, join_id, session_id, done_at)
  SELECT min(child.id), ${joinId}, child.session_id,
         CASE WHEN ${hasOpenWork(sql.ref('child.session_id'))} THEN NULL ELSE CAST(${now} AS BIGINT) END
  FROM runs AS child`

/** Condition: the session has an unfinished run for a requester, or an open join of such a run. */
export const hasOpenWork = (sessionId: RawBuilder<unknown>) => sql<boolean>`(
  EXISTS (SELECT 1 FROM runs WHERE runs.session_id = ${sessionId} AND runs.finished_at IS NULL
            AND runs.requester_session_id IS NOT NULL)
  OR EXISTS (SELECT 1 FROM joins JOIN runs ON runs.id = joins.run_id WHERE joins.session_id = ${sessionId}
               AND joins.fired_at IS NULL AND runs.requester_session_id IS NOT NULL))`

const openWork = statement((db, arg: { sessionId: string }) =>
  raw<{ found: number }>(db, sql`SELECT 1 AS found WHERE ${hasOpenWork(sql`${arg.sessionId}`)}`),
)

// Only unfinished runs and open joins are read, however many children have ended: CROSS JOIN keeps SQLite from beginning
// with the runs.
const liveChildren = statement((db, arg: { sessionId: string }) =>
  raw<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM (
          SELECT session_id FROM runs
          WHERE requester_session_id = ${arg.sessionId} AND finished_at IS NULL AND kind <> 'task'
          UNION
          SELECT joins.session_id FROM joins CROSS JOIN runs
          WHERE runs.id = joins.run_id AND joins.fired_at IS NULL AND runs.requester_session_id = ${arg.sessionId} AND runs.kind <> 'task'
        ) AS working`,
  ),
)

const joinedChildren = statement((db, arg: { parentRunId: string }) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('parent_run_id', '=', arg.parentRunId)
    .where('kind', '!=', sql.lit('task'))
    .where(sql<boolean>`(share_mode IS NULL OR share_mode <> 'isolated')`)
    .limit(sql.lit(1)),
)

const doneWith = statement((db, arg: { sessionId: string; at: number }) =>
  db
    .updateTable('join_members')
    .set({ done_at: arg.at })
    .where('session_id', '=', arg.sessionId)
    .where('done_at', 'is', null)
    .returning('join_id')
    .returning(
      sql<number>`CASE WHEN EXISTS (SELECT 1 FROM join_members AS other WHERE other.join_id = join_members.join_id
                                      AND other.done_at IS NULL AND other.session_id <> ${arg.sessionId})
                       THEN 1 ELSE 0 END`.as('others'),
    ),
)

const openIn = statement((db, arg: { sessionId: string }) =>
  db.selectFrom('joins').select('id').where('session_id', '=', arg.sessionId).where('fired_at', 'is', null).limit(1),
)

const openBy = statement((db, arg: { runId: string }) =>
  db.selectFrom('joins').select('id').where('run_id', '=', arg.runId).where('fired_at', 'is', null),
)

const close = statement((db, arg: { runId: string; at: number }) =>
  db.updateTable('joins').set({ fired_at: arg.at }).where('run_id', '=', arg.runId).where('fired_at', 'is', null),
)

const fire = statement((db, arg: { joinId: string; at: number }) =>
  db
    .updateTable('joins')
    .set({ fired_at: arg.at })
    .where('id', '=', arg.joinId)
    .where('fired_at', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('join_members').select('run_id').where('join_id', '=', arg.joinId).where('done_at', 'is', null),
        ),
      ),
    )
    // The cancel closes it, and delivers what the run has.
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('runs').select('id').whereRef('id', '=', 'joins.run_id').where('cancel_reason', 'is not', null),
        ),
      ),
    ),
)
