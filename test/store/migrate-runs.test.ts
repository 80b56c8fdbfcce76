import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { raw } from '../../src/store/raw.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Tx } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { emptyPlace, openWorld } from './filled-world.ts'

describe.each(databases)('runs of an earlier version on %s', (database) => {
  test('keep their options, which were columns and options of their inputs, and get a lane', async () => {
    const place = emptyPlace(database)
    const before = await openWorld(place, { migrations: migrations.filter(({ id }) => id < 19) })
    await before.store.write('submit', async (tx) => {
      await insertRun(tx, { ...old, id: 'root', priority: 2, timeout: 4000 })
      await insertRun(tx, { ...old, id: 'child', parent: 'root', via: 'spawn_agent', priority: 2, deadline: 7000 })
      await insertRun(tx, { ...old, id: 'other', via: 'narrator' })
      await insertItem(tx, 'root', { content: 'hello', wishes: { attended: true, thinking: { level: 'high' } } })
      await insertItem(tx, 'other', {
        content: 'say ,"wishes":{"attended":true,"thinking":{"level":"low"}}',
        wishes: {},
      })
    })
    await before.store.close()

    const { store } = await openWorld(place)
    const found = async (id: string) => {
      const run = await store.read((rows) => findRun(rows, id))
      return { ...run?.options, lane: run?.lane }
    }
    expect({ root: await found('root'), child: await found('child'), other: await found('other') }).toEqual({
      root: { priority: 2, timeoutMs: 4000, attended: true, thinking: { level: 'high' }, lane: 'main' },
      child: { priority: 2, deadline: 7000, attended: true, lane: 'agents' },
      other: { priority: 0, lane: 'background' },
    })
  })
})

interface OldRun {
  id: string
  parent: string | null
  via: string
  priority: number
  timeout: number | null
  deadline: number | null
}

const old = { parent: null, via: 'user', priority: 0, timeout: null, deadline: null }

async function insertRun(tx: Tx, { id, parent, via, priority, timeout, deadline }: OldRun): Promise<void> {
  await tx.run(raw(tx.build, sql`INSERT INTO segments (id, parent_id, fork_depth) VALUES (${id}, NULL, 0)`))
  await tx.run(
    raw(
      tx.build,
      sql`INSERT INTO sessions (id, folder, label, segment_id, updated_at) VALUES (${id}, '/here', ${id}, ${id}, 1)`,
    ),
  )
  await tx.run(
    raw(
      tx.build,
      sql`INSERT INTO runs (id, kind, state, session_id, created_at, via, root_run_id, parent_run_id, priority,
                            timeout_ms, deadline)
          VALUES (${id}, 'turn', 'queued', ${id}, 1, ${via}, ${parent ?? id}, ${parent}, ${priority}, ${timeout}, ${deadline})`,
    ),
  )
}

async function insertItem(tx: Tx, runId: string, payload: object): Promise<void> {
  await tx.run(
    raw(
      tx.build,
      sql`INSERT INTO inbox (id, session_id, kind, payload_json, source, integrity, sources_json, wake, run_id,
                             created_at, seq)
          VALUES (${`item of ${runId}`}, ${runId}, 'message', ${JSON.stringify(payload)}, 'human', 'trusted', '[]', 1,
                  ${runId}, 1, 1)`,
    ),
  )
}
