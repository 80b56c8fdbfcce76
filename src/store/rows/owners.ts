import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Run } from '../../domain/run.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'

/** A process that claims runs. Each start is a new owner. */
interface Owner {
  id: string
  pid: number
  startedAt: Millis
  beatAt: Millis
}

/** Registers an owner. Heartbeats use the machine's monotonic clock, which all its processes share. */
export async function insertOwner(tx: Tx, owner: Owner): Promise<void> {
  await tx.run(
    tx.build.insertInto('owners').values({
      id: owner.id,
      pid: owner.pid,
      started_at: owner.startedAt,
      beat_at: tx.dialect.leaseClock(Math.round(owner.beatAt)),
    }),
  )
}

/**
 * Records a heartbeat of the process. Undefined when another process has declared it dead: it must stop at once. `hasWork`
 * tells whether any run has not ended, or any session waits for children: otherwise no worker has anything to do.
 */
export async function recordHeartbeat(tx: Tx, id: string, now: Millis): Promise<{ hasWork: boolean } | undefined> {
  const row = await tx.first(setBeat({ id, now: Math.round(now) }))
  return row && { hasWork: row.has_work === 1 }
}

export async function removeOwner(tx: Tx, id: string): Promise<void> {
  await tx.run(tx.build.deleteFrom('owners').where('id', '=', id))
}

/** All owners with the time since their last heartbeat. */
export async function listOwners(rows: Reading, now: Millis): Promise<(Owner & { sinceHeartbeat: Millis })[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('owners')
      .selectAll()
      .select(rows.dialect.leaseClock(Math.round(now)).as('now'))
      .orderBy('id'),
  )
  return found.map((row) => ({
    id: row.id,
    pid: row.pid,
    startedAt: row.started_at,
    beatAt: row.beat_at,
    sinceHeartbeat: Number(row.now) - row.beat_at,
  }))
}

/** Claims of an owner; reads few columns, since it is called once a second. */
export async function claimsOf(rows: Reading, workerId: string): Promise<Pick<Run, 'id' | 'epoch'>[]> {
  return rows.all(owned({ workerId }))
}

/** Owners of runs that are no longer registered: declared dead before their runs were released. */
export async function lostOwners(rows: Reading): Promise<string[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('runs')
      .select('owner_id')
      .distinct()
      .where('owner_id', 'is not', null)
      .where('owner_id', 'not in', rows.build.selectFrom('owners').select('id')),
  )
  return found.map(({ owner_id }) => owner_id as string)
}

const owned = statement((db, arg: { workerId: string }) =>
  db.selectFrom('runs').select(['id', 'epoch']).where('owner_id', '=', arg.workerId),
)

// The condition on root_run_id is always true; it makes SQLite use the index of unfinished runs.
const setBeat = statement((db, arg: { id: string; now: number }, { leaseClock }) =>
  db
    .updateTable('owners')
    .set({ beat_at: leaseClock(arg.now) })
    .where('id', '=', arg.id)
    .returning(
      sql<number>`CASE WHEN EXISTS (SELECT 1 FROM runs WHERE finished_at IS NULL AND root_run_id > '')
                         OR EXISTS (SELECT 1 FROM joins WHERE fired_at IS NULL) THEN 1 ELSE 0 END`.as('has_work'),
    ),
)
