import { type RawBuilder, sql } from 'kysely'
import { raw } from '../../src/store/raw.ts'
import type { Tx } from '../../src/store/store.ts'

/** A run as schemas before 19 have it. */
export interface OldRun {
  id: string
  parent?: string
  via?: string
  priority?: number
  timeout?: number
  deadline?: number
}

/** Inserts a session of its own and a queued run in it, with the columns of earlier schemas. */
export async function insertOldRun(tx: Tx, run: OldRun): Promise<void> {
  const { id, parent = null, via = 'user', priority = 0, timeout = null, deadline = null } = run
  await insert(tx, sql`INSERT INTO segments (id, parent_id, fork_depth) VALUES (${id}, NULL, 0)`)
  await insert(
    tx,
    sql`INSERT INTO sessions (id, folder, label, segment_id, updated_at) VALUES (${id}, '/here', ${id}, ${id}, 1)`,
  )
  await insert(
    tx,
    sql`INSERT INTO runs (id, kind, state, session_id, created_at, via, root_run_id, parent_run_id, priority,
                          timeout_ms, deadline)
        VALUES (${id}, 'turn', 'queued', ${id}, 1, ${via}, ${parent ?? id}, ${parent}, ${priority},
                ${timeout}, ${deadline})`,
  )
}

/** An input as schemas before 19 have it. */
export interface OldItem {
  payload: object
  source?: string
  key?: string
}

/** Inserts an input of a run that `insertOldRun` made. */
export async function insertOldItem(tx: Tx, runId: string, item: OldItem): Promise<void> {
  const { payload, source = 'human', key = null } = item
  await insert(
    tx,
    sql`INSERT INTO inbox (id, session_id, kind, payload_json, source, integrity, sources_json, wake, dedupe_key,
                           run_id, created_at, seq)
        VALUES (${`item of ${runId}`}, ${runId}, 'message', ${JSON.stringify(payload)}, ${source}, 'trusted', '[]', 1,
                ${key}, ${runId}, 1, 1)`,
  )
}

async function insert(tx: Tx, statement: RawBuilder<unknown>): Promise<void> {
  await tx.run(raw(tx.build, statement))
}
