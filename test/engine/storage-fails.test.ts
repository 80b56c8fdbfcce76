import { sql } from 'kysely'
import { afterEach, describe, expect } from 'vitest'
import { StorageFailure } from '../../src/domain/errors.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { raw } from '../../src/store/raw.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import type { Tx } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

describe.each(databases)('a database that fails during a tool, on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(() => under.remove())

  /** Loses the connection in the middle of a transaction; SQLite has none, and its disk is full. */
  async function lose(tx: Tx): Promise<void> {
    if (database !== 'postgres') throw new StorageFailure('disk_full', 'no space left', 'free some', { retry: 'later' })
    await tx.all(raw(tx.build, sql`SELECT pg_terminate_backend(pg_backend_pid())`))
  }

  const asking = () =>
    scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? { text: 'done' } : { calls: [{ name: 'note', input: {} }] },
    )

  test('that writes rows is no answer of the tool: the run goes on when the database is back, and no model hears of it', async () => {
    let times = 0
    const note: Tool = {
      name: 'note',
      description: 'writes rows',
      inputSchema: { type: 'object' },
      effect: 'transactional',
      parse: (value) => ({ ok: true, value }),
      async write(tx) {
        if (++times === 1) await lose(tx as Tx)
        return { status: 'ok', output: 'noted' }
      },
    }
    const model = asking()
    under = await newEngine(database, model, { tools: [note] })
    await under.work()
    const { runId } = await under.say('note it')
    const [only] = await under.turns(1)
    expect(only?.turn).toMatchObject({ status: 'completed', responseMessage: { content: 'done' } })
    expect(times).toBe(2)
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'noted' })
    expect(JSON.stringify(model.requests)).not.toMatch(/answer|space|PostgreSQL|terminat/)
    const run = await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect(run).toMatchObject({ state: 'completed', crashes: 0 })
  })

  test('that only reads is no answer, either', async () => {
    let times = 0
    const look = testTool('note', 'pure', () => {
      if (++times === 1) throw new StorageFailure('database_unreachable', 'it does not answer', 'start PostgreSQL')
      return 'seen'
    })
    const model = asking()
    under = await newEngine(database, model, { tools: [look] })
    await under.work()
    await under.say('look')
    const [only] = await under.turns(1)
    expect(only?.turn.status).toBe('completed')
    expect(JSON.stringify(model.requests)).not.toContain('start PostgreSQL')
  })
})
