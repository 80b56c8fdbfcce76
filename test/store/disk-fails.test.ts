import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idSource } from '../../src/domain/id.ts'
import { append } from '../../src/engine/turns/append.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { expectWhole } from '../contract/whole.ts'
import { firstOf, isLong } from '../setup/long.ts'
import { context } from '../setup/store-context.ts'
import { allRows } from './all-rows.ts'
import { atEveryCall, type Met, type Victim } from './faults.ts'
import type { AppendingOn, Said } from './programs/append-on.ts'

const timeout = 120_000
const turns = 2
const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }
const newId = idSource(context.clock, context.random)

// Opening a log fills its index with 8 small writes, and a start does that for three connections. They are all alike,
// so the first and the last of each stand for them.
const isLikeAnother = (n: number) => n <= 24 && n % 8 > 2

/** A database with one turn, which every program gets a copy of. */
const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'))
const template: DatabaseLocation & { kind: 'sqlite' } = {
  kind: 'sqlite',
  file: join(folder, 'heddle.db'),
  durability: 'full',
}

beforeAll(async () => {
  const store = await openStore(template, context)
  await append({ store, clock: context.clock, newId }, { folder: '/work', label: 'main', draft })
  await store.close()
})

afterAll(() => rmSync(folder, { recursive: true }))

test('F15 a commit whose fsync fails is not acknowledged, nor is anything after it until a restart', {
  timeout,
}, async () => {
  let refused = 0
  await atEveryCall({ calls: 'fsync,fdatasync', fault: 'error=EIO' }, appending, async (met) => {
    const refusals = refusalsIn(met)
    if (refusals.length > 0) refused++
    expect(met.said).toEqual([...acknowledgedIn(met).map((turnId) => ({ turnId })), ...refusals, { done: true }])
    expect(refusals).toEqual(refusals.map(() => ({ code: 'storage_failed' })))
    await expectNothingLost(met)
  })
  // Each commit waits for the disk: an fsync that is left out cannot fail.
  expect(refused).toBeGreaterThanOrEqual(turns)
})

// Every write fails once: each second one for want of space, the others because the disk fails. Not all of them each day.
const step = isLong ? 2 : 12
test.each([
  { error: 'ENOSPC', codes: ['disk_full'], first: firstOf(step) },
  { error: 'EIO', codes: ['disk_full', 'storage_failed'], first: firstOf(step) + 1 },
])('F16 a write that fails with $error leaves all of a turn or nothing', { timeout }, ({ error, codes, first }) =>
  atEveryCall({ calls: 'pwrite64', fault: `error=${error}`, first, step, isLikeAnother }, appending, async (met) => {
    for (const { code } of refusalsIn(met)) expect(codes).toContain(code)
    await expectNothingLost(met)
  }),
)

test.each([
  { calls: 'pwrite64', isLikeAnother, step: isLong ? 1 : 10, first: firstOf(10) },
  { calls: 'fsync,fdatasync' },
  { calls: 'ftruncate' },
  // The log and its index, when the file is closed.
  { calls: 'unlink', least: 2 },
])('F16 a kill at any $calls leaves all of a turn or nothing', { timeout }, (which) =>
  atEveryCall({ ...which, fault: 'signal=KILL' }, appending, expectNothingLost),
)

interface Appender extends Victim {
  place: DatabaseLocation
}

function appending(own: string): Appender {
  const file = join(own, 'heddle.db')
  cpSync(template.file, file)
  const place: DatabaseLocation = { kind: 'sqlite', file, durability: 'full' }
  return { file, place, program: '../store/programs/append-on', input: { place, turns } satisfies AppendingOn }
}

/** What a restart finds: every acknowledged turn, each turn whole in all tables, and a store that goes on. */
async function expectNothingLost(met: Met<Appender>): Promise<void> {
  const { place } = met.victim
  const store = await openStore(place, context)
  const runtime = { store, place, clock: context.clock, newId }
  try {
    const acknowledged = acknowledgedIn(met)
    const [length = 0] = await expectWhole(runtime, acknowledged)
    expect(length).toBeGreaterThanOrEqual(acknowledged.length + 1)
    expect(length).toBeLessThanOrEqual(turns + 1)
    const rows = await allRows(store)
    const added = rows['events']?.filter(({ kind }) => kind === 'turn.added')
    const sizes = [rows['runs'], rows['turns'], rows['threads'], added].map((found) => found?.length)
    expect(sizes).toEqual([length, length, length, length])
    await append(runtime, { folder: '/work', label: 'main', draft })
  } finally {
    await store.close()
  }
}

function acknowledgedIn({ said }: Met<Appender>): string[] {
  return (said as Said[]).flatMap((line) => ('turnId' in line ? line.turnId : []))
}

function refusalsIn({ said }: Met<Appender>): { code: string }[] {
  return (said as Said[]).filter((line) => 'code' in line)
}
