import { describe, expect, onTestFinished, test } from 'vitest'
import type { MemoryDraft } from '../../src/domain/memory.ts'
import { recall } from '../../src/memory/recall.ts'
import { remember, rewrite } from '../../src/memory/remember.ts'
import { broughtBackText, restoreReplaced } from '../../src/memory/restore-replaced.ts'
import { archiveMemory, findMemory, insertMemory, listMemories, supersede } from '../../src/store/knowledge/memories.ts'
import { saveReview } from '../../src/store/knowledge/memory-review.ts'
import { openStore } from '../../src/store/open.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Store } from '../../src/store/store.ts'
import { newOffice } from '../engine/test-team.ts'
import { databases, newPlace } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'

const trusted = { integrity: 'trusted' as const, sources: [] }
const untrusted = { integrity: 'untrusted' as const, sources: ['url:https://a.example'] }
const { clock } = context

describe.each(databases)('memories that an earlier version replaced by itself, on %s', (database) => {
  const test = testOn(database)
  /** A database as an earlier version left it, upgraded and opened. */
  async function upgraded(fill: (store: Store) => Promise<void>): Promise<Store> {
    const { place, remove } = newPlace(database)
    onTestFinished(remove)
    const before = await openStore(place, context, { migrations: migrations.filter(({ id }) => id < 15) })
    await fill(before)
    await before.close()
    const store = await openStore(place, context)
    onTestFinished(() => store.close())
    return store
  }
  /** Replaces `older` by a new memory, as the old rule did. */
  const replace = (store: Store, older: number[], content: string, more: Partial<MemoryDraft> = {}) =>
    store.write('submit', async (tx) => {
      const id = await insertMemory(tx, { content, source: 'user', label: trusted, ...more }, 1)
      for (const each of older) await supersede(tx, each, id)
    })
  const listed = async (store: Store) =>
    (await store.read((rows) => listMemories(rows, { limit: 500 }))).map(({ id }) => id).sort((a, b) => a - b)
  // The rows themselves: on PostgreSQL followers see an event only when every older transaction has ended.
  const told = async (store: Store) => {
    const columns = ['subject', 'payload_json'] as const
    const events = await store.read((rows) =>
      rows.all(rows.build.selectFrom('events').select(columns).where('kind', '=', 'memory.brought_back')),
    )
    return events.map(({ subject, payload_json }) => ({ subject, payload: JSON.parse(payload_json) }))
  }

  test('are found again after the upgrade, from the archive, too, and that is told once', async () => {
    const store = await upgraded(async (before) => {
      await replace(before, [], 'Server db1 has 32 GB of memory', { tags: ['infra'] })
      await replace(before, [1], 'Server db2 has 64 GB of memory')
      await replace(before, [2], 'Server db3 has 96 GB of memory')
      await before.write('submit', (tx) => archiveMemory(tx, 1))
    })
    expect(await listed(store)).toEqual([3])
    expect(await restoreReplaced({ store, clock })).toEqual({ count: 2, ids: [1, 2] })
    expect(await listed(store)).toEqual([1, 2, 3])
    const hits = await store.read((rows) => recall(rows, 'infra db1', 1, 5))
    expect(hits[0]?.memory).toMatchObject({ id: 1, supersededBy: null, tags: ['infra'] })
    expect(await restoreReplaced({ store, clock })).toBeUndefined()
    expect(await told(store)).toEqual([{ subject: 'memory:1', payload: { count: 2, ids: [1, 2] } }])
  })

  test('stay replaced where that was meant: other words, the same statement, where it came from; forgotten ones stay gone', async () => {
    const store = await upgraded(async (before) => {
      await replace(before, [], 'Customers are billed monthly')
      await replace(before, [1], 'Invoices go out twice a year')
      await replace(before, [], 'The vault is in the cellar', { label: untrusted })
      await replace(before, [3], 'the vault is in the cellar.')
      await replace(before, [], 'The port is 8080', { source: 'agent', resultId: 4, taskId: 3 })
      await replace(before, [5], 'The port is 9090', { resultId: 4, taskId: 3 })
      await replace(before, [], 'Bread is baked at night')
      await replace(before, [7], 'Bread is baked at noon')
      const gone = { content: '', forgotten_at: 1 }
      await before.write('submit', (tx) => tx.run(tx.build.updateTable('memories').set(gone).where('id', '=', 7)))
    })
    expect(await restoreReplaced({ store, clock })).toBeUndefined()
    expect(await listed(store)).toEqual([2, 4, 6, 8])
    expect(await told(store)).toEqual([])
  })

  test('come back page by page, by two processes at once and with one word about all of them', async () => {
    const store = await upgraded(async (before) => {
      for (let n = 0; n < 450; n++) await replace(before, n === 0 ? [] : [n], `Tenant ${n} listens on port ${8000 + n}`)
    })
    const both = await Promise.all([restoreReplaced({ store, clock }), restoreReplaced({ store, clock })])
    expect(both.filter((each) => each).map((each) => each?.count)).toEqual([449])
    expect(await listed(store)).toHaveLength(450)
    expect(await told(store)).toHaveLength(1)
  })

  test('nothing is reviewed where nothing was replaced, nor what is replaced later', async () => {
    const store = await upgraded((before) => replace(before, [], 'The port is 8080'))
    await store.write('submit', (tx) =>
      rewrite(tx, 1, { content: 'The port is 9090' }, { source: 'user', label: trusted }, 1, 100),
    )
    expect(await restoreReplaced({ store, clock })).toBeUndefined()
    expect(await listed(store)).toEqual([2])
  })

  test('stay replaced where an agent had called memory_update, by its journal', async () => {
    const office = await newOffice(database, {
      coordinator: (_, last) =>
        last === 'correct it'
          ? { calls: [{ name: 'memory_update', input: { id: 1, content: 'The port is 9090' } }] }
          : { text: 'ok' },
    })
    onTestFinished(() => office.remove())
    const { store } = office.engine
    const keep = (content: string) =>
      store.write('submit', (tx) => remember(tx, { content, source: 'user', label: trusted }, 1, 1000))
    await keep('The port is 8080')
    await keep('The port is 7070')
    await office.ask('correct it')
    const update = await store.read((rows) => findMemory(rows, 3))
    expect(update).toMatchObject({ content: 'The port is 9090', source: 'agent' })
    await store.write('submit', async (tx) => {
      await supersede(tx, 2, 3)
      await saveReview(tx, { upTo: 3, after: 0, count: 0, ids: [] })
    })
    expect(await restoreReplaced({ store, clock })).toEqual({ count: 1, ids: [2] })
    expect(await listed(store)).toEqual([2, 3])
  })
})

test('what a person is told names the first and counts the rest', () => {
  expect(broughtBackText({ count: 1, ids: [4] })).toBe(
    'an earlier version had hidden a memory behind others that looked alike; restored: memory:4; see: heddle memory',
  )
  expect(broughtBackText({ count: 9, ids: [1, 2, 3, 4, 5, 6] })).toContain('memory:5 and 4 more')
})
