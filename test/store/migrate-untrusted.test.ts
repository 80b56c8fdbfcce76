import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Label } from '../../src/domain/label.ts'
import { findMemory, insertMemory } from '../../src/store/knowledge/memories.ts'
import { raw } from '../../src/store/raw.ts'
import { untrustedFilesIn } from '../../src/store/rows/untrusted-files.ts'
import { migrations } from '../../src/store/schema-version.ts'
import { databases } from '../setup/places.ts'
import { emptyPlace, openWorld } from './filled-world.ts'

const step = migrations.find(({ name }) => name === 'untrusted files')?.id ?? 0
const stranger: Label = { integrity: 'untrusted', sources: ['url:https://a.example'] }
const own: Label = { integrity: 'trusted', sources: [] }

describe.each(databases)('a home of an earlier version on %s', (database) => {
  test('knows afterwards which files untrusted runs wrote, and has no untrusted memory with a high score', async () => {
    const place = emptyPlace(database)
    const before = await openWorld(place, { migrations: migrations.filter(({ id }) => id < step) })
    await before.store.write('submit', async (tx) => {
      const insertRun = (id: string, { integrity, sources }: Label) =>
        tx.run(
          raw(
            tx.build,
            sql`INSERT INTO runs (id, kind, state, created_at, integrity, sources_json)
                VALUES (${id}, 'turn', 'queued', 1, ${integrity}, ${JSON.stringify(sources)})`,
          ),
        )
      await insertRun('strange', stranger)
      await insertRun('own', own)
      for (const [runId, path, after] of [
        ['strange', 'notes.md', 'aa'],
        ['strange', 'notes.md', 'bb'],
        ['strange', 'notes.md', 'aa'],
        ['own', 'own.md', 'cc'],
        ['strange', 'gone.md', null],
      ] as const)
        await tx.run(
          raw(
            tx.build,
            sql`INSERT INTO file_changes (run_id, call_id, folder, path, after_hash, at)
                VALUES (${runId}, 'c', '/here', ${path}, ${after}, 5)`,
          ),
        )
      for (const label of [stranger, own]) await insertMemory(tx, { content: 'x', source: 'agent', label }, 1)
      await tx.run(tx.build.updateTable('memories').set({ score: 370 }))
    })
    await before.store.close()

    const { store } = await openWorld(place)
    const files = await store.read((rows) => untrustedFilesIn(rows, '/here'))
    expect(files.map(({ path, sha256, sources }) => [path, sha256, sources]).sort()).toEqual([
      ['/here/notes.md', 'aa', stranger.sources],
      ['/here/notes.md', 'bb', stranger.sources],
    ])
    const scores = await store.read(async (rows) => [await findMemory(rows, 1), await findMemory(rows, 2)])
    expect(scores.map((memory) => memory?.score)).toEqual([1, 370])
  })
})
