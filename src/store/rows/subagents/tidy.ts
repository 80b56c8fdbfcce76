import { sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { Run } from '../../../domain/run.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import { runFrom } from '../run-rows.ts'

/**
 * The moment at which an ended sub-agent's session is archived. One whose transcript shall be deleted waits for its
 * result to be read; no requester is told of an isolated one's, so that it can go at once.
 */
export function tidyMoment({ subagent }: Pick<Run, 'subagent'>, now: Millis, archiveAfter: Millis): Millis | undefined {
  if (subagent?.cleanup === 'delete') return subagent.shareMode === 'isolated' ? now : undefined
  return !subagent || archiveAfter === 0 ? undefined : now + archiveAfter
}

/** Sets that moment. */
export async function scheduleTidy(
  tx: Tx,
  run: Pick<Run, 'sessionId' | 'subagent'>,
  now: Millis,
  archiveAfter: Millis,
): Promise<void> {
  const at = tidyMoment(run, now, archiveAfter)
  if (at === undefined) return
  await tx.run(setTidyAt({ sessionId: run.sessionId ?? '', at }))
  tx.hint('due')
}

/** Schedules the removal of transcripts whose results were read, where the spawn asked for it. */
export async function scheduleRemoval(tx: Tx, resultIds: readonly number[], now: Millis): Promise<void> {
  const found = await tx.run(
    tx.build
      .updateTable('sessions')
      .set({ tidy_at: now })
      .where('removed_at', 'is', null)
      .where('id', 'in', ({ selectFrom }) =>
        selectFrom('agent_results')
          .innerJoin('runs', 'runs.id', 'agent_results.run_id')
          .select(sql<string>`runs.session_id`.as('id'))
          .where('agent_results.id', 'in', resultIds)
          .where('runs.cleanup', '=', 'delete'),
      ),
  )
  if (found > 0) tx.hint('due')
}

const setTidyAt = statement((db, arg: { sessionId: string; at: number }) =>
  db.updateTable('sessions').set({ tidy_at: arg.at }).where('id', '=', arg.sessionId).where('removed_at', 'is', null),
)

/** The moment at which the next session is tidied up. */
export async function nextTidy(rows: Reading): Promise<Millis | undefined> {
  const row = await rows.first(earliest({}))
  return row?.at === null || row?.at === undefined ? undefined : Number(row.at)
}

/** Sessions that are due, the oldest first. */
export async function sessionsToTidy(rows: Reading, now: Millis, limit: number): Promise<string[]> {
  return (await rows.all(due({ now, limit }))).map(({ id }) => id)
}

/** The newest run of a sub-agent's session. */
export async function findSubagentRun(rows: Reading, sessionId: string): Promise<Run | undefined> {
  const row = await rows.first(newestOf({ sessionId }))
  return row && runFrom(row)
}

/** Sets when a session is tidied up; null: not again. */
export async function setTidy(tx: Tx, id: string, at: Millis | null): Promise<void> {
  await tx.run(tx.build.updateTable('sessions').set({ tidy_at: at }).where('id', '=', id))
}

export async function markRemoved(tx: Tx, id: string, at: Millis): Promise<void> {
  await tx.run(tx.build.updateTable('sessions').set({ removed_at: at, tidy_at: null }).where('id', '=', id))
}

const earliest = statement((db, _arg: object) =>
  db.selectFrom('sessions').select(sql<number | null>`min(tidy_at)`.as('at')).where('tidy_at', 'is not', null),
)

const due = statement((db, arg: { now: number; limit: number }) =>
  db
    .selectFrom('sessions')
    .select('id')
    .where('tidy_at', 'is not', null)
    .where('tidy_at', '<=', arg.now)
    .orderBy('tidy_at')
    .limit(arg.limit),
)

const newestOf = statement((db, arg: { sessionId: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('session_id', '=', arg.sessionId)
    .where('parent_run_id', 'is not', null)
    .where('share_mode', 'is not', null)
    .orderBy('id', 'desc')
    .limit(sql.lit(1)),
)
