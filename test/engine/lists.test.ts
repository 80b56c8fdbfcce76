import { afterEach, beforeEach, describe, expect } from 'vitest'
import { ownerText } from '../../src/domain/access/principal.ts'
import { newRun, type Run } from '../../src/domain/run.ts'
import type { SessionKind } from '../../src/domain/session.ts'
import { trialRunId } from '../../src/domain/spending.ts'
import { append, startSession } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { routeSmart } from '../../src/engine/turns/route-smart.ts'
import { listSessions } from '../../src/engine/turns/sessions.ts'
import { listRuns, listUsage } from '../../src/engine/views/runs.ts'
import { recordEvent } from '../../src/store/rows/events.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { insertRun } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { recordUsage } from '../../src/store/rows/usage.ts'
import type { Reading, Store } from '../../src/store/store.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const folder = '/here'

describe.each(databases)('lists on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const read = <T>(body: (rows: Reading) => Promise<T>) => runtime.store.read(body)

  test('need as many statements for a thousand sessions as for ten', async () => {
    const lists: Record<string, (rows: Reading) => Promise<unknown>> = {
      sessions: (rows) => listSessions(rows, { limit: 1000 }),
      ps: (rows) => listRuns(rows, 9_000, { limit: 1000 }),
      'ps -a': (rows) => listRuns(rows, 9_000, { all: true, limit: 1000 }),
      ...Object.fromEntries(
        (['model', 'session', 'agent', 'run', 'day'] as const).map((by) => [
          `usage ${by}`,
          (rows: Reading) => listUsage(rows, by, 9_000),
        ]),
      ),
    }
    const counts: Record<string, number>[] = []
    for (const sessions of [10, 990]) {
      await fill(runtime, sessions)
      const count: Record<string, number> = {}
      for (const [name, list] of Object.entries(lists)) count[name] = await statementsOf(runtime.store, list)
      counts.push(count)
    }
    expect(await read((rows) => listSessions(rows, { limit: 1000 }))).toMatchObject({ rows: { length: 1000 } })
    expect(counts[1]).toEqual(counts[0])
    expect(counts[0]).toMatchObject({ sessions: 1, 'usage session': 2, ps: 5, 'ps -a': 5 })
  })

  test('of sessions go on after a cursor, whatever is used meanwhile', async () => {
    await fill(runtime, 25)
    const first = await read((rows) => listSessions(rows, { limit: 10 }))
    const labels = first.rows.map(({ label }) => label)
    const last = first.rows.at(-1)
    // It is the first of the list now, and was on the first page.
    await touch(runtime, last?.id ?? '', 99_999)
    for (let after = first.next; after !== undefined; ) {
      const page = { limit: 10, after }
      const more = await read((rows) => listSessions(rows, page))
      labels.push(...more.rows.map(({ label }) => label))
      after = more.next
    }
    expect(new Set(labels).size).toBe(25)
    expect(labels).toHaveLength(25)
  })

  test('of sessions are of one folder, kind or label, archived or not', async () => {
    await add(runtime, { label: 'main' })
    await add(runtime, { label: 'old', archivedAt: 5 })
    await add(runtime, { label: 'agent:x:subagent:1', kind: 'agent' })
    await add(runtime, { label: 'main', folder: '/there' })
    await add(runtime, { label: 'user:x:theirs', principalId: 'user:x' })
    const labels = (filter: NonNullable<Parameters<typeof listSessions>[1]>) =>
      read(async (rows) =>
        (await listSessions(rows, filter)).rows.map((each) => `${each.folder} ${each.label}`).toSorted(),
      )
    expect(await labels({ folder, kind: 'person', archived: false })).toEqual(['/here main', '/here user:x:theirs'])
    expect(await labels({ principal: 'user:x' })).toEqual(['/here user:x:theirs'])
    expect(await labels({ folder, archived: true })).toEqual(['/here old'])
    expect(await labels({ kind: 'agent' })).toEqual(['/here agent:x:subagent:1'])
    expect(await labels({ label: 'main' })).toEqual(['/here main', '/there main'])
  })

  test('of runs are oldest first, and go on with older ones', async () => {
    await fill(runtime, 25)
    const { rows: all, next: none } = await read((rows) => listRuns(rows, 9_000, { all: true, limit: 1000 }))
    expect([all.length, none]).toEqual([25, undefined])
    const newest = await read((rows) => listRuns(rows, 9_000, { all: true, limit: 10 }))
    const older = await read((rows) => listRuns(rows, 9_000, { all: true, limit: 100, after: newest.next ?? '' }))
    expect([...older.rows, ...newest.rows]).toEqual(all)
    // A page that ends with the last row has nothing after it.
    expect(await read((rows) => listRuns(rows, 9_000, { all: true, limit: 25 }))).toEqual({ rows: all })
    const live = await read((rows) => listRuns(rows, 9_000, { limit: 1000 }))
    expect(live.rows.map(({ id }) => id)).toEqual(all.filter(({ state }) => state !== 'completed').map(({ id }) => id))
    expect(all.slice(0, 4).map(({ doing }) => doing)).toEqual([
      'thinking',
      'queued',
      expect.stringMatching(/^waiting for model retry in 1s/),
      'completed',
    ])
    expect(all[0]).toMatchObject({ session: 's0', folder, lane: 'main', model: { actual: 'big' }, tokens: 11 })
  })

  test('of spending group by key in the order of the first call; a limit leaves out the oldest, not of the total', async () => {
    await fill(runtime, 25)
    await runtime.store.write('step', (tx) =>
      recordUsage(tx, { ...call(trialRunId('doctor', 'x')), model: 'big-2025-01-01' }, usage, 1),
    )
    const bySession = await read((rows) => listUsage(rows, 'session', 9_000))
    expect(bySession.rows.map(({ key }) => key)).toEqual(['doctor', ...Array.from({ length: 25 }, (_, at) => `s${at}`)])
    expect(bySession.total).toMatchObject({ calls: 26, inputTokens: 260 })
    const last = await read((rows) => listUsage(rows, 'session', 9_000, { limit: 10 }))
    expect(last).toEqual({ ...bySession, rows: bySession.rows.slice(-10), next: expect.any(String) })
    const before = await read((rows) => listUsage(rows, 'session', 9_000, { limit: 1000, after: last.next ?? '' }))
    expect([...before.rows, ...last.rows]).toEqual(bySession.rows)
    expect((await read((rows) => listUsage(rows, 'model', 9_000))).rows).toMatchObject([{ key: 'big', calls: 26 }])
    expect((await read((rows) => listUsage(rows, 'day', 9_000))).rows).toMatchObject([{ key: '1970-01-01' }])
    expect((await read((rows) => listUsage(rows, 'agent', 9_000))).rows).toMatchObject([
      { key: 'doctor' },
      { key: '–' },
    ])
    expect((await read((rows) => listUsage(rows, 'run', 9_000))).rows).toHaveLength(26)
  })

  test('refuse a cursor that is none, and more rows than a page has', async () => {
    await expect(read((rows) => listSessions(rows, { after: 'x' }))).rejects.toMatchObject({ code: 'bad_cursor' })
    await expect(read((rows) => listUsage(rows, 'run', 1, { after: '' }))).rejects.toMatchObject({ code: 'bad_cursor' })
    for (const limit of [0, 1001, 1.5, Number.NaN])
      await expect(read((rows) => listRuns(rows, 1, { limit }))).rejects.toMatchObject({ code: 'bad_limit' })
  })

  test('a free label is found by one look, among labels that resemble it', async () => {
    const turnId = await head(runtime, 'main')
    const tail = turnId.slice(-6)
    for (const label of [`fork-${tail}`, `fork-${tail}-2`, `fork-${tail}-22`, `fork-${tail}3`])
      await add(runtime, { label })
    expect((await fork(runtime, { folder, turnId })).label).toBe(`fork-${tail}-3`)
    expect(await statementsOf(runtime.store, (rows) => routeSmart(rows, 'x', { now: 1 }))).toBeLessThan(8)
  })
})

const usage = { inputTokens: 10, outputTokens: 1, cachedTokens: 0, costUsd: 0.5 }

function call(runId: string) {
  return { runId, call: 1, rootRunId: runId, principal: ownerText, model: 'big' }
}

/** Adds sessions with one run each: running, queued, waiting, and the others completed. */
async function fill(runtime: TestRuntime, count: number): Promise<void> {
  const before = (await runtime.store.read((rows) => findSessions(rows))).length
  for (let number = before; number < before + count; number++) {
    const sessionId = await add(runtime, { label: `s${number}`, updatedAt: 1000 + Math.floor(number / 3) })
    const id = runtime.newId()
    const states: Partial<Run>[] = [
      { state: 'running', epoch: 1, workerId: 'worker' },
      { state: 'queued' },
      { state: 'waiting', waitingFor: 'retry', wakeAt: 9_500 },
    ]
    const state = states[number] ?? { state: 'completed' as const, finishedAt: 2000 }
    await runtime.store.write('step', async (tx) => {
      if (number === 0) await insertOwner(tx, { id: 'worker', pid: 1, startedAt: 1, beatAt: 1 })
      await insertRun(tx, {
        ...newRun({ id, kind: 'turn', via: 'user', sessionId, principal: ownerText, now: 1000 }),
        ...state,
      })
      await recordUsage(tx, call(id), usage, 1000 + number)
      const payload = { for: 'retry', error: 'provider_failed' }
      if (number === 2) {
        const scope = { sessionId, rootRunId: id }
        await recordEvent(tx, { at: 1, kind: 'run.waiting', subject: `run:${id}`, payload, scope })
      }
    })
  }
}

interface Added {
  label: string
  folder?: string
  principalId?: string
  kind?: Exclude<SessionKind, 'narrator'>
  updatedAt?: number
  archivedAt?: number
}

async function add(runtime: TestRuntime, { label, kind, updatedAt = 1, archivedAt, ...at }: Added): Promise<string> {
  const ids = { sessionId: runtime.newId(), segmentId: runtime.newId() }
  await runtime.store.write('session', async (tx) => {
    await startSession(tx, {
      folder,
      principalId: ownerText,
      ...at,
      ...ids,
      label,
      now: updatedAt,
      ...(kind && { kind }),
    })
    if (archivedAt !== undefined)
      await tx.run(tx.build.updateTable('sessions').set({ archived_at: archivedAt }).where('id', '=', ids.sessionId))
  })
  return ids.sessionId
}

function touch({ store }: TestRuntime, id: string, at: number): Promise<unknown> {
  return store.write('session', (tx) =>
    tx.run(tx.build.updateTable('sessions').set({ updated_at: at }).where('id', '=', id)),
  )
}

async function head(runtime: TestRuntime, label: string): Promise<string> {
  const draft = { query: [{ content: 'hello' }], response: { content: 'hi' } }
  return (await append(runtime, { folder, label, draft })).turnId
}

/** How many statements a body sends. */
function statementsOf(store: Store, body: (rows: Reading) => Promise<unknown>): Promise<number> {
  return store.read(async (rows) => {
    let count = 0
    const all: Reading['all'] = (query) => {
      count++
      return rows.all(query)
    }
    await body({ ...rows, all, first: async (query) => (await all(query))[0] })
    return count
  })
}
