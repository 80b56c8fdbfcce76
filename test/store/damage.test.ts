import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { append } from '../../src/engine/turns/append.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { countTurns } from '../../src/store/rows/turns.ts'
import { seededRandom } from '../../src/testing.ts'
import { context } from '../setup/store-context.ts'
import { rowsIn } from './all-rows.ts'
import { newFolder } from './backup-lines.ts'
import { emptyPlace, filledPlace, filledTurns, openWorld } from './filled-world.ts'

const pageSize = 4096
const wayBack = /nothing was changed.*heddle restore FILE/
const draft = { query: [{ content: 'question' }], response: { content: 'answer'.repeat(1000) } }

describe('F18 a start is refused, with the file, the reason and the way back, when in its place is', () => {
  test.each<[string, { code: string; reason: RegExp }, (file: string) => void]>([
    ['a database of another program', { code: 'database_foreign', reason: /of another program/ }, putForeign],
    ['a text', foreign(/not a SQLite database/), (file) => writeFileSync(file, 'dear diary\n'.repeat(500))],
    ['a short text', foreign(/not a SQLite database/), (file) => writeFileSync(file, 'dear diary')],
    ['an empty file', corrupt(/cut to 0 bytes/), (file) => truncateSync(file)],
    ['half of the file', corrupt(/cut short/), (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
    ['the file without its last byte', corrupt(/cut short/), (file) => truncateSync(file, statSync(file).size - 1)],
    ['a folder', foreign(/is a folder/), putFolder],
    ['nothing but the log', corrupt(/it is gone, but its log/), putLogOnly],
    ['a database that forgot its schema', corrupt(/which schema/), (file) => change(file, 'DELETE FROM migrations')],
    [
      'a database without the list of its schemas',
      corrupt(/which schema/),
      (file) => change(file, 'DROP TABLE migrations'),
    ],
  ])('%s', async (_, { code, reason }, damage) => {
    const { place } = await filledPlace('sqlite')
    const file = fileOf(place)
    damage(file)
    const before = fingerprints(file)
    const error = await openStore(place, context).catch((refusal) => refusal)

    expect(error).toMatchObject({ code, remedy: expect.stringMatching(wayBack) })
    expect(error.message).toContain(file)
    expect(error.message).toMatch(reason)
    expect(fingerprints(file)).toEqual(before)
  })

  test('a file with any one page overwritten', async () => {
    const { place } = await filledPlace('sqlite')
    const file = fileOf(place)
    const whole = readFileSync(file)
    const garbage = Buffer.from(seededRandom(18).bytes(pageSize))
    for (let page = 0; page * pageSize < whole.length; page++) {
      const bytes = Buffer.from(whole)
      garbage.copy(bytes, page * pageSize)
      writeFileSync(file, bytes)
      const before = fingerprints(file)
      const error = await openStore(place, context).catch((refusal) => refusal)

      expect(error, `page ${page + 1}`).toMatchObject({
        code: page === 0 ? 'database_foreign' : 'database_corrupt',
        message: expect.stringContaining(file),
        remedy: expect.stringMatching(wayBack),
      })
      expect(fingerprints(file)).toEqual(before)
    }
  })
})

describe('F18 after a kill, when the log holds turns that the file does not', () => {
  test('a deleted -shm is made again, and no turn is missing', async () => {
    const { place, file } = await killed()
    rmSync(`${file}-shm`)
    expect((await rowsIn(place))['turns']).toHaveLength(filledTurns)
  })

  test('a file that the kill caught while the log was copied into it is whole with its log', async () => {
    const { place, file } = await killed()
    const copied = copyOf(file)
    change(copied, 'PRAGMA wal_checkpoint(TRUNCATE)')
    // The first page goes first, and says already how large the file will be.
    const bytes = readFileSync(file)
    readFileSync(copied).copy(bytes, 0, 0, pageSize)
    writeFileSync(file, bytes)

    expect(statSync(file).size).toBeLessThan(statSync(copied).size)
    expect((await rowsIn(place))['turns']).toHaveLength(filledTurns)
  })

  test('a file that lost pages which the log does not have is refused', async () => {
    const { place, file } = await killed()
    const runtime = await openWorld(place)
    await append(runtime, { folder: '/', label: 'main', draft })
    await runtime.store.close()
    const again = await openWorld(place)
    await append(again, { folder: '/', label: 'other', draft })
    const copy = copyOf(file)
    truncateSync(copy, Math.floor(statSync(copy).size / 2))

    const error = await openStore({ ...place, file: copy } as DatabaseLocation, context).catch((refusal) => refusal)
    expect(error).toMatchObject({ code: 'database_corrupt', message: expect.stringContaining(copy) })
  })

  test('a log that is cut short, or gone, goes back to the commit before: nothing in the file can tell', async () => {
    const { place, file } = await killed()
    const log = readFileSync(`${file}-wal`)
    const counts: number[] = []
    for (const length of [log.length, Math.floor(log.length / 2), 100, 0]) {
      writeFileSync(`${file}-wal`, log.subarray(0, length))
      const copy = copyOf(file)
      counts.push((await rowsIn({ ...place, file: copy } as DatabaseLocation))['turns']?.length ?? -1)
    }
    expect(counts[0]).toBe(filledTurns)
    expect(counts.at(-1)).toBe(0)
    expect([...counts].sort((a, b) => b - a)).toEqual(counts)
  })
})

test('a folder that is missing is said to be, rather than made', async () => {
  const file = join(newFolder(), 'none', 'heddle.db')
  await expect(openStore({ kind: 'sqlite', file, durability: 'full' }, context)).rejects.toMatchObject({
    code: 'database_not_writable',
    remedy: expect.stringContaining(dirname(file)),
  })
})

test('F18 a missing file is made anew only where nothing hints at an older one', async () => {
  const place = emptyPlace('sqlite')
  const { store } = await openWorld(place)
  expect(await store.read(countTurns)).toBe(0)
  expect(readdirSync(dirname(fileOf(place))).sort()).toEqual(['heddle.db', 'heddle.db-shm', 'heddle.db-wal'])
  expect(statSync(fileOf(place)).mode & 0o777).toBe(0o600)
})

function corrupt(reason: RegExp) {
  return { code: 'database_corrupt', reason }
}

function foreign(reason: RegExp) {
  return { code: 'database_foreign', reason }
}

function fileOf(place: DatabaseLocation): string {
  return place.kind === 'sqlite' ? place.file : ''
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file)
  db.exec(sql)
  db.close()
}

function putForeign(file: string): void {
  rmSync(file)
  change(file, 'CREATE TABLE theirs (a)')
}

function putFolder(file: string): void {
  rmSync(file)
  mkdirSync(file)
}

function putLogOnly(file: string): void {
  rmSync(file)
  writeFileSync(`${file}-wal`, 'what is left')
}

/** The file and its log, byte for byte. An empty log is as good as none. */
function fingerprints(file: string): string[] {
  return ['', '-wal']
    .filter((part) => existsSync(file + part) && (part === '' || statSync(file + part).size > 0))
    .map((part) => (statSync(file + part).isFile() ? readFileSync(file + part) : Buffer.from('folder')))
    .map((bytes) => createHash('sha256').update(bytes).digest('hex'))
}

/** A copy of a file with what lies beside it, as the disk has it. */
function copyOf(file: string): string {
  const folder = newFolder()
  for (const part of ['', '-wal']) if (existsSync(file + part)) cpSync(file + part, join(folder, `heddle.db${part}`))
  return join(folder, 'heddle.db')
}

/** What a process leaves that is killed while its turns are in the log only. */
async function killed(): Promise<{ place: DatabaseLocation; file: string }> {
  const runtime = await openWorld(emptyPlace('sqlite'))
  for (let count = 0; count < filledTurns; count++) await append(runtime, { folder: '/', label: 'main', draft })
  const file = copyOf(fileOf(runtime.place))
  cpSync(`${fileOf(runtime.place)}-shm`, `${file}-shm`)
  return { place: { kind: 'sqlite', file, durability: 'full' }, file }
}
