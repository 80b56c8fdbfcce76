import type { Millis } from '../domain/clock.ts'
import type { Reading, Tx } from './store.ts'

/** "Wake this session when all of these have ended." */
export interface Join {
  id: string
  sessionId: string
  rootRunId: string
  firedAt: Millis | null
}

/** Opens a join over runs that no other join names. Its session's row must be locked: that lock guards its joins, too. */
export async function insertJoin(
  tx: Tx,
  join: { id: string; sessionId: string; rootRunId: string; createdAt: Millis },
  runIds: string[],
): Promise<void> {
  await tx.run(
    tx.build.insertInto('joins').values({
      id: join.id,
      session_id: join.sessionId,
      root_run_id: join.rootRunId,
      fired_at: null,
      created_at: join.createdAt,
    }),
  )
  await tx.run(tx.build.insertInto('join_members').values(runIds.map((run_id) => ({ run_id, join_id: join.id }))))
}

/** The join that waits for this run, if any. */
export async function joinOf(rows: Reading, runId: string): Promise<Join | undefined> {
  const row = await rows.first(
    rows.build
      .selectFrom('joins')
      .innerJoin('join_members', 'join_members.join_id', 'joins.id')
      .select(['joins.id', 'joins.session_id', 'joins.root_run_id', 'joins.fired_at'])
      .where('join_members.run_id', '=', runId),
  )
  return row && { id: row.id, sessionId: row.session_id, rootRunId: row.root_run_id, firedAt: row.fired_at }
}

/** Members of a join that have not ended. */
export async function openMembers(rows: Reading, joinId: string): Promise<string[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('join_members')
      .innerJoin('runs', 'runs.id', 'join_members.run_id')
      .select('runs.id')
      .where('join_members.join_id', '=', joinId)
      .where('runs.finished_at', 'is', null),
  )
  return found.map(({ id }) => id)
}

/** Marks a join as met. False when it was already: it fires once. */
export async function fireJoin(tx: Tx, joinId: string, at: Millis): Promise<boolean> {
  const query = tx.build
    .updateTable('joins')
    .set({ fired_at: at })
    .where('id', '=', joinId)
    .where('fired_at', 'is', null)
  return (await tx.run(query)) === 1
}
