import { describe, expect, test } from 'vitest'
import { findMemory, insertMemory } from '../../src/store/knowledge/memories.ts'
import { recordFileChange } from '../../src/store/rows/file-changes.ts'
import { untrustedFilesIn } from '../../src/store/rows/untrusted-files.ts'
import { migrations } from '../../src/store/schema-version.ts'
import { databases } from '../setup/places.ts'
import { emptyPlace, openWorld } from './filled-world.ts'
import { insertOldRun } from './old-rows.ts'

const step = migrations.find(({ name }) => name === 'untrusted files')?.id ?? 0
const stranger = { integrity: 'untrusted' as const, sources: ['url:https://a.example'] }

describe.each(databases)('a home of an earlier version on %s', (database) => {
  test('knows afterwards which files untrusted runs wrote, and has no untrusted memory with a high score', async () => {
    const place = emptyPlace(database)
    const before = await openWorld(place, { migrations: migrations.filter(({ id }) => id < step) })
    await before.store.write('submit', async (tx) => {
      await insertOldRun(tx, { id: 'own' })
      await insertOldRun(tx, { id: 'strange' })
      const label = { integrity: stranger.integrity, sources_json: JSON.stringify(stranger.sources) }
      await tx.run(tx.build.updateTable('runs').set(label).where('id', '=', 'strange'))
      const change = { callId: 'c', folder: '/here', before: null, mode: null, at: 5 }
      for (const [runId, path, after] of [
        ['strange', 'notes.md', 'aa'],
        ['strange', 'notes.md', 'bb'],
        ['strange', 'notes.md', 'aa'],
        ['own', 'own.md', 'cc'],
        ['strange', 'gone.md', null],
      ] as const)
        await recordFileChange(tx, { ...change, runId, path, after }, undefined)
      for (const label of [stranger, { integrity: 'trusted' as const, sources: [] }])
        await insertMemory(tx, { content: 'x', source: 'agent', label }, 1)
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
