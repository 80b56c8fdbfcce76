import { sql } from 'kysely'
import type { Run } from '../domain/run.ts'
import { requeueRun } from './runs.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** Keeps why a run was stopped: what it began wakes nobody from then on. */
export async function noteCancelled(tx: Tx, id: string, reason: string): Promise<void> {
  await tx.run(tx.build.updateTable('runs').set({ cancel_reason: reason }).where('id', '=', id))
}

/** Asks for a locked run's end: of its owner, or of whoever claims it next, which need not wait for anything any more. */
export async function askToCancel(tx: Tx, run: Pick<Run, 'id' | 'state'>, reason: string): Promise<void> {
  await noteCancelled(tx, run.id, reason)
  if (run.state === 'waiting') await requeueRun(tx, run.id)
  tx.hint(run.state === 'running' ? 'cancel' : 'runs')
}

/**
 * What goes on although what it belongs to was stopped: a child that was not told, a run that had ended and waits for
 * what it began, a task of a plan that was given up. Whoever tried a part again wants that part.
 */
export async function stoppedInPart(rows: Reading): Promise<{ id: string; reason: string }[]> {
  const found = await rows.all(inPart({}))
  return found.map(({ id, reason }) => ({ id, reason: reason ?? '' }))
}

const inPart = statement((db, _arg: object) =>
  db
    .selectFrom('runs as child')
    .innerJoin('runs as parent', 'parent.id', 'child.parent_run_id')
    .select(['child.id', 'parent.cancel_reason as reason'])
    // Every root is more than nothing; said so, SQLite looks only at the runs that have not ended.
    .where('child.root_run_id', '>', sql.lit(''))
    .where('child.finished_at', 'is', null)
    .where('child.cancel_reason', 'is', null)
    .where('child.via', '!=', sql.lit('retry'))
    // A task belongs to its plan, which outlives the run that started it; that run's own end stops what it had begun.
    .where('child.task_id', 'is', null)
    .where('parent.cancel_reason', 'is not', null)
    .union(
      db
        .selectFrom('joins')
        .innerJoin('runs', 'runs.id', 'joins.run_id')
        .select(['runs.id', 'runs.cancel_reason as reason'])
        .where('joins.fired_at', 'is', null)
        .where('runs.cancel_reason', 'is not', null),
    )
    .union(
      db
        .selectFrom('runs')
        .innerJoin('tasks', 'tasks.id', 'runs.task_id')
        .innerJoin('projects', 'projects.id', 'tasks.project_id')
        .select(['runs.id', sql<string | null>`'its plan was cancelled'`.as('reason')])
        .where('runs.root_run_id', '>', sql.lit(''))
        .where('runs.finished_at', 'is', null)
        .where('runs.cancel_reason', 'is', null)
        .where('projects.status', '=', sql.lit('cancelled')),
    ),
)
