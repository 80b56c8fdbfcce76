import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Run } from '../../domain/run.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'

/**
 * Sets the moment at which an ended sub-agent's session is archived. One whose transcript shall be deleted waits for its
 * result to be read; nobody is told of an isolated one's, so that it can go at once.
 */
export async function scheduleTidy(
  tx: Tx,
  { sessionId, subagent }: Pick<Run, 'sessionId' | 'subagent'>,
  now: Millis,
  archiveAfter: Millis,
): Promise<void> {
  const isDeleted = subagent?.cleanup === 'delete'
  if (isDeleted && subagent.shareMode !== 'isolated') return
  if (!isDeleted && archiveAfter === 0) return
  await tx.run(setTidyAt({ sessionId: sessionId ?? '', at: isDeleted ? now : now + archiveAfter }))
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
