import { cpSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readBackup } from '../../src/store/backup/backup-file.ts'
import type { DatabaseLocation } from '../../src/store/open.ts'
import { dumpSchema } from '../../src/store/schema-dump.ts'
import { bundled, start } from '../contract/program.ts'
import { expectSound } from '../contract/whole.ts'
import { firstOf, inTurn, isLong } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { type AllRows, rowsIn } from './all-rows.ts'
import { newFolder } from './backup-lines.ts'
import { atEveryCall } from './faults.ts'
import { emptyPlace, filledPlace, filledTurns, openWorld } from './filled-world.ts'
import { laterMigrations } from './later-schema.ts'
import type { Act, Said } from './programs/act.ts'

const timeout = isLong ? 3_600_000 : 120_000
const program = '../store/programs/act'
const later = { migrations: laterMigrations }

// Opening a log fills its index with 8 small writes that are all alike; the first and the last stand for them.
const isLikeAnother = (n: number) => n <= 16 && n % 8 > 2

test('F36 SQLite: an upgrade that is killed at any write leaves whole steps, and the next start ends them', {
  timeout,
}, async () => {
  const { place: template, rows } = await filledPlace('sqlite')
  const dump = await newestSchema('sqlite')
  const upgrading = (folder: string) => {
    const place = filePlace(folder)
    cpSync(template.kind === 'sqlite' ? template.file : '', place.file)
    return { file: place.file, place, program, input: { act: 'upgrade', place, backups: join(folder, 'backups') } }
  }
  const kill = { calls: 'pwrite64', fault: 'signal=KILL', first: firstOf(15), step: isLong ? 1 : 15, isLikeAnother }
  await atEveryCall(kill, upgrading, async ({ victim, said }) => {
    await expectUpgraded(victim.place, rows, dump)
    for (const line of said as Said[])
      if ('backup' in line) expect((await readBackup(line.backup)).rows.get('turns')).toBe(filledTurns)
  })
})

test('F36 SQLite: a first start that is killed at any fsync leaves nothing that the next one could mistake', {
  timeout,
}, async () => {
  const dump = await newestSchema('sqlite')
  const creating = (folder: string) => {
    const place = filePlace(folder)
    return { file: place.file, place, anyFile: true, program, input: { act: 'upgrade', place, backups: folder } }
  }
  const kill = { calls: 'fsync', fault: 'signal=KILL', first: firstOf(3), step: isLong ? 1 : 3 }
  await atEveryCall(kill, creating, async ({ victim }) => {
    const { store } = await openWorld(victim.place, later)
    expect(await dumpSchema(store)).toBe(dump)
    await store.close()
  })
})

describe.each(databases)('F36 %s', (database) => {
  const test = testOn(database)
  const points = ['migrate.before_commit', 'migrate.after_commit'].flatMap((point) => [`${point}#1`, `${point}#2`])
  test.each(inTurn(points, 1))('an upgrade that is killed at %s is ended by the next start', async (point) => {
    const { place, rows } = await filledPlace(database)
    const act: Act = { act: 'upgrade', place, backups: newFolder() }
    expect(await start(await bundled(program), act, { env: { HEDDLE_CRASH_AT: point } }).end).toBe('SIGKILL')
    await expectUpgraded(place, rows, await newestSchema(database))
  })

  test('processes that start at once on an old schema: one makes the copy and upgrades, all of them work', async () => {
    const { place, rows } = await filledPlace(database)
    const backups = newFolder()
    const act: Act = { act: 'upgrade', place, backups }
    const file = await bundled(program)
    const programs = [1, 2, 3].map(() => start(file, act))
    const said = (await Promise.all(programs.map((each) => each.hearAll()))) as Said[][]

    expect(said.map((lines) => lines.at(-1))).toEqual([{ done: true }, { done: true }, { done: true }])
    expect(said.flat().filter((line) => 'backup' in line)).toHaveLength(1)
    expect(readdirSync(backups)).toHaveLength(1)
    await expectUpgraded(place, rows, await newestSchema(database))
  })

  test('processes that start at once on nothing make one database', async () => {
    const place = emptyPlace(database)
    const file = await bundled(program)
    const programs = [1, 2, 3].map(() => start(file, { act: 'append', place, turns: 2 } satisfies Act))
    const said = (await Promise.all(programs.map((each) => each.hearAll()))) as Said[][]

    const turn = { turnId: expect.any(String) }
    expect(said).toEqual([1, 2, 3].map(() => [turn, turn, { done: true }]))
    const turnIds = said.flat().flatMap((line) => ('turnId' in line ? line.turnId : []))
    expect((await rowsIn(place))['turns']?.map(({ id }) => id).sort()).toEqual(turnIds.sort())
    if (place.kind === 'sqlite') expect(readdirSync(dirname(place.file))).toEqual(['heddle.db'])
  })
})

function filePlace(folder: string): DatabaseLocation & { kind: 'sqlite' } {
  return { kind: 'sqlite', file: join(folder, 'heddle.db'), durability: 'full' }
}

async function newestSchema(database: (typeof databases)[number]): Promise<string> {
  const { store } = await openWorld(emptyPlace(database), later)
  return dumpSchema(store)
}

/** Opens the place as the newer program does, and finds the newest schema over the rows of old. */
async function expectUpgraded(place: DatabaseLocation, rows: AllRows, dump: string): Promise<void> {
  const { store } = await openWorld(place, later)
  expect(await dumpSchema(store)).toBe(dump)
  await store.close()
  const found = await rowsIn(place, later)
  expect(found['turns']).toEqual(rows['turns'])
  expect(found['marks']).toHaveLength(filledTurns)
  expect(found['sessions']?.map(({ colour }) => colour)).toEqual(['green', 'green', 'green'])
  expectSound(place)
}
