import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idSource } from '../../src/domain/id.ts'
import { append } from '../../src/engine/append.ts'
import { openStore, type Place } from '../../src/store/open.ts'
import { start } from '../contract/program.ts'
import { expectWhole } from '../contract/whole.ts'
import { context } from '../setup/places.ts'
import { allRows } from './all-rows.ts'
import { newFolder } from './backup-lines.ts'
import type { AppendingOn, Said } from './programs/append-on.ts'

// Opening a log fills its index with 8 small writes, and a start does that for three connections. They are all alike,
// so the first and the last of each stand for them; every write after them is tried.
const indexWrites = { each: 8, all: 24 }
const turns = 2

interface Faulty {
  said: Said[]
  place: Place
}

const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }
const newId = idSource(context.clock, context.random)
const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'))
/** A database with one turn, which every program gets a copy of. */
const template: Place & { kind: 'sqlite' } = { kind: 'sqlite', file: join(folder, 'heddle.db'), durability: 'full' }
/** Programs start in half the time when they find each other's compiled code. */
const compiled = join(folder, 'compiled')

beforeAll(async () => {
  const store = await openStore(template, context)
  await append({ store, clock: context.clock, newId }, { folder: '/work', label: 'main', draft })
  await store.close()
})

afterAll(() => rmSync(folder, { recursive: true }))

test('F15 a commit whose fsync fails is not acknowledged, nor is anything after it until a restart', async () => {
  await untilOneSurvives('fsync,fdatasync', 'error=EIO', async ({ said, place }, n) => {
    const codes = said.flatMap((line) => ('code' in line ? line.code : []))
    const firstRefusal = said.findIndex((line) => 'code' in line)
    const after = said.slice(firstRefusal).filter((line) => 'turnId' in line)
    if (firstRefusal >= 0) expect({ n, after }).toEqual({ n, after: [] })
    expect(new Set(codes)).toEqual(new Set(codes.length === 0 ? [] : ['storage_failed']))
    await expectNothingLost({ said, place })
    return codes.length === 0
  })
})

test.each(['ENOSPC', 'EIO'])('F16 a write that fails with %s leaves all of a turn or nothing', async (error) => {
  await untilOneSurvives('pwrite64', `error=${error}`, async (faulty) => {
    const codes = faulty.said.flatMap((line) => ('code' in line ? line.code : []))
    for (const code of codes) expect(['disk_full', 'storage_failed']).toContain(code)
    if (error === 'ENOSPC') expect(codes).not.toContain('storage_failed')
    await expectNothingLost(faulty)
    return codes.length === 0
  })
})

test.each(['pwrite64', 'fsync,fdatasync', 'ftruncate', 'unlink'])(
  'F16 a kill at any %s leaves all of a turn or nothing',
  async (calls) => {
    await untilOneSurvives(calls, 'signal=KILL', async (faulty) => {
      await expectNothingLost(faulty)
      return faulty.said.some((line) => 'done' in line)
    })
  },
)

/** Lets the first call fail, then the second, and so on, two programs at a time, until a program meets no fault. */
async function untilOneSurvives(
  calls: string,
  fault: string,
  check: (faulty: Faulty, n: number) => Promise<boolean>,
): Promise<void> {
  let n = 0
  let survived = false
  const lane = async () => {
    while (!survived) {
      n = nextWrite(n, calls)
      const mine = n
      if (await check(await runWith(calls, `${fault}:when=${mine}`), mine)) survived = true
    }
  }
  await Promise.all([lane(), lane()])
  // The fault was met at least at the start, at the commits and at the end.
  expect(n).toBeGreaterThan(2)
}

function nextWrite(n: number, calls: string): number {
  const next = n + 1
  if (calls !== 'pwrite64' || next > indexWrites.all || next % indexWrites.each <= 1) return next
  return next + indexWrites.each - (next % indexWrites.each)
}

async function runWith(calls: string, fault: string): Promise<Faulty> {
  const file = join(newFolder(), 'heddle.db')
  cpSync(template.file, file)
  const place: Place = { kind: 'sqlite', file, durability: 'full' }
  const paths = ['', '-wal', '-shm'].flatMap((part) => ['-P', file + part])
  const trace = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`]
  const program = start('../store/programs/append-on', { place, turns } satisfies AppendingOn, {
    under: ['strace', '-f', '-o', '/dev/null', ...paths, ...trace],
    env: { NODE_COMPILE_CACHE: compiled },
  })
  return { said: (await program.hearAll()) as Said[], place }
}

/** What a restart finds: every acknowledged turn, each turn whole in all tables, and a store that goes on. */
async function expectNothingLost({ said, place }: Faulty): Promise<void> {
  const store = await openStore(place, context)
  const world = { store, place, clock: context.clock, newId }
  try {
    const acknowledged = said.flatMap((line) => ('turnId' in line ? line.turnId : []))
    const [length = 0] = await expectWhole(world, acknowledged)
    expect(length).toBeGreaterThanOrEqual(acknowledged.length + 1)
    expect(length).toBeLessThanOrEqual(turns + 1)
    const { runs, turns: stored, threads, events } = await allRows(store)
    const sizes = [runs, stored, threads, events?.filter(({ kind }) => kind === 'turn.added')].map(
      (rows) => rows?.length,
    )
    expect(sizes).toEqual([length, length, length, length])
    await append(world, { folder: '/work', label: 'main', draft })
  } finally {
    await store.close()
  }
}
