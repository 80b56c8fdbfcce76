import { type RawBuilder, sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import { raw } from './raw.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** "Wake this session when all of these have ended." */
export interface Join {
  id: string
  sessionId: string
  rootRunId: string
  firedAt: Millis | null
}

/**
 * Opens a join over all that a run began, or over some of it; whoever is done already counts as met. Tasks are not
 * joined: their plan wakes. Its session's row must be locked: that
 * lock guards its joins, too.
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

/** The open join that waits for what this session does, if any. */
export async function joinOver(rows: Reading, sessionId: string): Promise<Join | undefined> {
  const row = await rows.first(over({ sessionId }))
  return row && { id: row.id, sessionId: row.session_id, rootRunId: row.root_run_id, firedAt: row.fired_at }
}

/** Notes that a session has done what a join waits for. */
export async function finishMember(tx: Tx, sessionId: string, at: Millis): Promise<void> {
  await tx.run(doneWith({ sessionId, at }))
}

/** Whether this session waits for others. */
export async function hasOpenJoin(rows: Reading, sessionId: string): Promise<boolean> {
  return (await rows.first(openIn({ sessionId }))) !== undefined
}

/** Whether a session is still at what others asked of it. What people say to it there is between them and it. */
export async function isAtWork(rows: Reading, sessionId: string): Promise<boolean> {
  return (await rows.first(atWork({ sessionId }))) !== undefined
}

/** Whether what this run began keeps its session waiting. */
export async function isWaiting(rows: Reading, runId: string): Promise<boolean> {
  return (await rows.first(openBy({ runId }))) !== undefined
}

/** Closes what a run waits for, met or not: nobody is woken by it any more. Tells whether there was something. */
export async function closeJoin(tx: Tx, runId: string, at: Millis): Promise<boolean> {
  return (await tx.run(close({ runId, at }))) > 0
}

/** Marks a join as met once all its members are done. False when they are not, or it was already: it fires once. */
export async function fireJoin(tx: Tx, joinId: string, at: Millis): Promise<boolean> {
  return (await tx.run(fire({ joinId, at }))) === 1
}

interface Members {
  joinId: string
  parentRunId: string
  now: number
}

// One statement, whatever their number; and one look, in which a session cannot be between two states.
const insertMembers = statement((db, arg: Members) =>
  raw<object>(
    db,
    sql`${membersOf(arg)} WHERE child.parent_run_id = ${arg.parentRunId} AND child.kind <> 'task'
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

const membersOf = ({ joinId, now }: Members) => sql`
  INSERT INTO join_members (run_id, join_id, session_id, done_at)
  SELECT min(child.id), ${joinId}, child.session_id,
         CASE WHEN ${workAt(sql.ref('child.session_id'))} THEN NULL ELSE CAST(${now} AS BIGINT) END
  FROM runs AS child`

/** Runs of a session that work for others, and what such runs wait for. */
const workAt = (sessionId: RawBuilder<unknown>) => sql`(
  EXISTS (SELECT 1 FROM runs WHERE runs.session_id = ${sessionId} AND runs.finished_at IS NULL
            AND runs.requester_session_id IS NOT NULL)
  OR EXISTS (SELECT 1 FROM joins JOIN runs ON runs.id = joins.run_id WHERE joins.session_id = ${sessionId}
               AND joins.fired_at IS NULL AND runs.requester_session_id IS NOT NULL))`

const atWork = statement((db, arg: { sessionId: string }) =>
  raw<{ found: number }>(db, sql`SELECT 1 AS found WHERE ${workAt(sql`${arg.sessionId}`)}`),
)

const over = statement((db, arg: { sessionId: string }) =>
  db
    .selectFrom('join_members')
    .innerJoin('joins', 'joins.id', 'join_members.join_id')
    .select(['joins.id', 'joins.session_id', 'joins.root_run_id', 'joins.fired_at'])
    .where('join_members.session_id', '=', arg.sessionId)
    .where('join_members.done_at', 'is', null),
)

const doneWith = statement((db, arg: { sessionId: string; at: number }) =>
  db
    .updateTable('join_members')
    .set({ done_at: arg.at })
    .where('session_id', '=', arg.sessionId)
    .where('done_at', 'is', null),
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
    ),
)
