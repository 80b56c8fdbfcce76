import { sql } from 'kysely'
import { describe, expect } from 'vitest'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { sqlite } from '../../src/store/dialect.ts'
import type { Migration } from '../../src/store/migration.ts'
import { raw } from '../../src/store/raw.ts'
import { dumpSchema } from '../../src/store/schema-dump.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Reading, Store } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { rowsIn } from './all-rows.ts'
import { backupOf } from './backup-lines.ts'
import { emptyPlace, filledPlace, openWorld } from './filled-world.ts'

const newest = migrations.at(-1)?.id ?? 0
const first = migrations.find(({ views }) => views)
const withViews = first?.id ?? 0
const count = (view: string) => (rows: Reading) =>
  rows.first(raw<{ count: number }>(rows.build, sql`SELECT count(*) AS count FROM ${sql.table(view)}`))

describe.each(databases)('views on %s', (database) => {
  const test = testOn(database)
  test('stand aside while a migration rebuilds a table that they read, and come back as they were', async () => {
    const { place } = await filledPlace(database)
    const before = await openWorld(place)
    const dump = await dumpSchema(before.store)
    const turns = await before.store.read(count('nexus_turns'))
    await before.store.close()
    const { store } = await openWorld(place, { migrations: [...migrations, rebuildSteps] })

    expect(viewsIn(await dumpSchema(store))).toEqual(viewsIn(dump))
    expect(viewsIn(dump)).toHaveLength(Object.keys(first?.views?.(sqlite.types) ?? {}).length)
    expect(await store.read(count('nexus_turns'))).toEqual(turns)
    expect(turns?.count).toBeGreaterThan(0)
  })

  test('give way to those of a later migration', async () => {
    const { place } = await filledPlace(database)
    const later: Migration = {
      id: newest + 1,
      name: 'later',
      up: () => [],
      views: () => ({ heads: 'SELECT 1 AS one' }),
    }
    const { store } = await openWorld(place, { migrations: [...migrations, later] })
    expect(viewsIn(await dumpSchema(store))).toEqual(['heads'])
  })

  test('read text that PostgreSQL cannot parse as JSON', async () => {
    const { place } = await filledPlace(database)
    const { store } = await openWorld(place)
    const output = 'nul \0, lone \ud800, and the words \\u0000'
    await store.write('step', async (tx) => {
      const payload = JSON.stringify({ id: 'c1', status: 'ok', output })
      await tx.run(tx.build.updateTable('steps').set({ payload_json: payload }).where('kind', '=', 'ended'))
    })
    const found = await store.read((rows) =>
      rows.all(raw<{ calls: string }>(rows.build, sql`SELECT tool_calls_json AS calls FROM nexus_turns`)),
    )
    const outputs = found.flatMap(({ calls }) => JSON.parse(calls).map((call: { output: string }) => call.output))
    const readable = 'nul \ufffd, lone \ufffd, and the words \\ufffd'
    expect(outputs).toEqual([database === 'sqlite' ? output : readable])
  })

  test('tasks and results of an earlier version keep their rows, and get defaults and a foreign key', async () => {
    const place = emptyPlace(database)
    const old = await openWorld(place, { migrations: migrations.filter(({ id }) => id < withViews) })
    await old.store.write('submit', async (tx) => {
      const run = (text: string) => tx.run(raw(tx.build, sql.raw(text)))
      for (const id of ['first', 'second', 'third'])
        await run(
          `INSERT INTO runs (id, kind, state, created_at, finished_at) VALUES ('${id}', 'spawn', 'completed', 1, 1)`,
        )
      await run(`INSERT INTO segments (id, parent_id, fork_depth) VALUES ('segment', NULL, 0)`)
      await run(
        `INSERT INTO sessions (id, folder, label, segment_id, updated_at) VALUES ('s', '/here', 'main', 'segment', 1)`,
      )
      await run(`INSERT INTO projects (title, status, session_id, root_run_id, planned_by, revision, created_at)
                 VALUES ('plan', 'running', 's', 'first', 'first', 1, 1)`)
      await run(`INSERT INTO tasks (project_id, key, title, context, skill, status, priority, attempts, revision, created_at)
                 VALUES (1, 'a', 'Task a', 'Do it.', 'writer', 'completed', 0, 1, 1, 1)`)
      await run(result('first', '1'))
      await run(result('second', '77'))
    })
    const backup = await backupOf(old.store)
    await old.store.close()

    const { store } = await openWorld(place)
    expect(
      await store.read((rows) =>
        rows.all(rows.build.selectFrom('agent_results').select(['id', 'run_id', 'task_id']).orderBy('id')),
      ),
    ).toEqual([
      { id: 1, run_id: 'first', task_id: 1 },
      { id: 2, run_id: 'second', task_id: null },
    ])
    await write(
      store,
      `INSERT INTO tasks (project_id, key, title, context, skill, priority, attempts, revision, created_at)
                        VALUES (1, 'b', 'Task b', 'Do it.', 'writer', 0, 0, 1, 1)`,
    )
    expect(
      await store.read((rows) => rows.all(rows.build.selectFrom('tasks').select(['id', 'status']).orderBy('id'))),
    ).toEqual([
      { id: 1, status: 'completed' },
      { id: 2, status: 'pending' },
    ])
    await expect(write(store, result('third', '77'))).rejects.toMatchObject({ constraint: 'foreign_key' })
    for (const other of databases) {
      const restored = emptyPlace(other)
      await restoreBackup(restored, backup, { context })
      const rows = await rowsIn(restored)
      expect(rows['agent_results']?.map(({ id, task_id }) => [id, task_id])).toEqual([
        [1, 1],
        [2, null],
      ])
    }
  })
})

function write(store: Store, text: string): Promise<unknown> {
  return store.write('submit', (tx) => tx.run(raw(tx.build, sql.raw(text))))
}

function result(runId: string, taskId: string): string {
  return `INSERT INTO agent_results (run_id, task_id, skill_used, status, summary, output, artifacts_json, memory_ids, processed, created_at)
    VALUES ('${runId}', ${taskId}, 'writer', 'completed', 'Done.', 'Done.', '[]', '[]', 0, 1)`
}

function viewsIn(dump: string): string[] {
  return [...dump.matchAll(/^CREATE VIEW (\w+)/gm)].map(([, name]) => name ?? '')
}

const rebuildSteps: Migration = {
  id: newest + 1,
  name: 'rebuild',
  up: ({ int, text, strict }) => [
    `CREATE TABLE rebuilt (
      run_id         ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      seq            ${int} NOT NULL,
      kind           ${text} NOT NULL,
      payload_json   ${text} NOT NULL,
      at             ${int},
      touched_folder ${text},
      PRIMARY KEY (run_id, seq)
    )${strict}`,
    'INSERT INTO rebuilt SELECT run_id, seq, kind, payload_json, at, touched_folder FROM steps',
    'DROP TABLE steps',
    'ALTER TABLE rebuilt RENAME TO steps',
  ],
}
