import { describe, expect, test } from 'vitest'
import type { InboxItem } from '../../src/domain/inbox.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { clearWakes, findItem, insertItem } from '../../src/store/rows/inbox.ts'
import { databases, newTestRuntime } from '../setup/places.ts'

describe.each(databases)('a cancelled request on %s', (database) => {
  test('starts no run by what waits for it, and leaves to a run that is queued already what it was queued for', async () => {
    const runtime = await newTestRuntime(database)
    const asked = { folder: '/here', content: 'go' }
    const queued = await submit(runtime, { ...asked, label: 'queued' })
    const other = await submit(runtime, { ...asked, label: 'other' })
    const notice = (id: string, sessionId: string): InboxItem => ({
      ...{ id, sessionId, kind: 'join', content: '', source: 'agent', parts: [], options: {}, wake: true },
      ...{ label: { integrity: 'trusted', sources: [] }, createdAt: 0 },
      ...{ rootRunId: queued.runId, runId: null, consumedByTurn: null, principal: 'owner' },
    })
    await runtime.store.write('settle', async (tx) => {
      await insertItem(tx, notice('taken', queued.session.id), null)
      await insertItem(tx, notice('waiting', other.session.id), null)
      await clearWakes(tx, queued.runId ?? '')
    })
    const wakes = await runtime.store.read(async (rows) => [
      (await findItem(rows, 'taken'))?.wake,
      (await findItem(rows, 'waiting'))?.wake,
    ])
    expect(wakes).toEqual([true, false])
    await runtime.remove()
  })
})
