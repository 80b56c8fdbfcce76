import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CrashPoint } from '../../src/domain/crash-points.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { bundled, start } from '../contract/program.ts'
import { inTurn } from '../setup/long.ts'
import { node } from '../setup/node.ts'
import { databases } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { rowsIn } from './all-rows.ts'
import { backupOf } from './backup-lines.ts'
import { atEveryCall } from './faults.ts'
import { drawnToday, emptyPlace, emptyWorld, filledPlace, filledTurns, filledWorld, spendNow } from './filled-world.ts'
import type { Act } from './programs/act.ts'

const program = '../store/programs/act'

type FilePlace = DatabaseLocation & { kind: 'sqlite' }

describe.each(databases)('F37 a restore into %s that is killed', (database) => {
  const test = testOn(database)
  const points: CrashPoint[] = ['restore.before_swap', 'restore.after_swap']
  test.each(inTurn(points, 1))('at %s leaves the old database or the new one, and can be repeated', async (point) => {
    const { place, rows } = await filledPlace(database)
    const empty = await emptyWorld(database)
    const file = await backupOf(empty.store)
    expect(await killedAt(point, { act: 'restore', place, file })).toBe('SIGKILL')

    const turns = point === 'restore.before_swap' ? rows['turns'] : []
    expect((await rowsIn(place))['turns']).toEqual(turns)
    await restoreBackup(place, file, { context })
    expect((await rowsIn(place))['turns']).toEqual([])
  })

  test.each(inTurn(points, 1))(
    'at %s still counts what was spent today, and so does the restore after it',
    async (point) => {
      const { store, place } = await filledWorld(database)
      const file = await backupOf(store)
      await spendNow(store, 'after-the-backup', 2)
      await store.close()
      expect(await killedAt(point, { act: 'restore', place, file })).toBe('SIGKILL')

      expect(await drawnToday(place)).toBe(2)
      await restoreBackup(place, file, { context })
      expect(await drawnToday(place)).toBe(2)
    },
  )
})

describe('F37 a restore into SQLite that is killed between the two renames', () => {
  async function halfRestored() {
    const { place, rows, backup } = await filledPlace('sqlite')
    expect(await killedAt('restore.between_swap', { act: 'restore', place, file: backup })).toBe('SIGKILL')
    return { place: place as FilePlace, rows, backup }
  }

  test('lets no start turn into an empty database, and names both ways on', async () => {
    const { place } = await halfRestored()
    const before = readdirSync(dirname(place.file))
    const error = await openStore(place, context).catch((refusal) => refusal)

    expect(error).toMatchObject({ code: 'restore_unfinished', message: expect.stringContaining(place.file) })
    expect(error.remedy).toMatch(/heddle restore FILE; or .*: mv \S+before-restore-\S+ \S+heddle\.db$/)
    expect(readdirSync(dirname(place.file))).toEqual(before)
  })

  test('can be repeated, and leaves no draft', async () => {
    const { place, rows, backup } = await halfRestored()
    await restoreBackup(place, backup, { context })

    expect(await rowsIn(place)).toEqual(rows)
    expect(filesBeside(place)).toEqual([expect.stringMatching(/^heddle\.db\.before-restore-[0-9_]+$/)])
  })

  test('can be taken back with the command that it names', async () => {
    const { place, rows } = await halfRestored()
    const { remedy } = await openStore(place, context).catch((refusal) => refusal)
    const command = /mv .*$/.exec(remedy)?.[0] ?? ''
    const [code] = await once(spawn('/bin/sh', ['-c', command]), 'close')

    expect(code).toBe(0)
    expect(await rowsIn(place)).toEqual(rows)
  })

  test('keeps a log that lay beside a damaged file, and its place in the way back', async () => {
    const { place, backup } = await filledPlace('sqlite')
    const { file } = place as FilePlace
    writeFileSync(file, 'no database')
    writeFileSync(`${file}-wal`, 'its log')
    await killedAt('restore.between_swap', { act: 'restore', place, file: backup })
    const { remedy } = await openStore(place, context).catch((refusal) => refusal)
    const [code] = await once(spawn('/bin/sh', ['-c', /mv .*$/.exec(remedy)?.[0] ?? '']), 'close')

    expect(code).toBe(0)
    expect([readFileSync(file, 'utf8'), readFileSync(`${file}-wal`, 'utf8')]).toEqual(['no database', 'its log'])
  })
})

test('a restore that fails between the two renames puts the old file back', async () => {
  const { place, rows, backup } = await filledPlace('sqlite')
  const failing = {
    ...context,
    crash(point: CrashPoint) {
      if (point === 'restore.between_swap') throw new Error('no second rename')
    },
  }
  await expect(restoreBackup(place, backup, { context: failing })).rejects.toThrow('no second rename')
  expect(await rowsIn(place)).toEqual(rows)
  expect(filesBeside(place as FilePlace)).toEqual([])
})

test('a first restore that is killed before its end lets no start turn into an empty database', async () => {
  const { backup } = await filledPlace('sqlite')
  const place = emptyPlace('sqlite')
  await killedAt('restore.before_swap', { act: 'restore', place, file: backup })

  await expect(openStore(place, context)).rejects.toMatchObject({
    code: 'restore_unfinished',
    remedy: expect.stringMatching(/^restore again: heddle restore FILE; or begin with an empty database: rm /),
  })
  await restoreBackup(place, backup, { context })
  expect((await rowsIn(place))['turns']).toHaveLength(filledTurns)
})

describe('F37 a kill at any fsync of the old file', () => {
  const kill = { calls: 'fsync', fault: 'signal=KILL' }

  test('by which a restore takes it for itself lets the next start find all of it', async () => {
    const { place, rows, backup } = await filledPlace('sqlite')
    const restoring = (folder: string) => {
      const own = copyOf(place, folder)
      return { file: own.file, place: own, program, input: { act: 'restore', place: own, file: backup } }
    }
    await atEveryCall(kill, restoring, async ({ victim }) => expect(await rowsIn(victim.place)).toEqual(rows))
  })

  test('by which a start takes over what a killed restore has left lets the next one find all of it', async () => {
    const { place, rows } = await filledPlace('sqlite')
    const starting = (folder: string) => {
      const own = copyOf(place, folder)
      const db = new DatabaseSync(own.file)
      db.exec('PRAGMA journal_mode = DELETE')
      db.close()
      return { file: own.file, place: own, program, input: { act: 'append', place: own, turns: 0 } }
    }
    await atEveryCall(kill, starting, async ({ victim }) => expect(await rowsIn(victim.place)).toEqual(rows))
  })
})

describe('what cannot be asked whether it is in use is moved aside as it is', () => {
  test.each<[string, (file: string) => void]>([
    ['a file of other bytes', (file) => writeFileSync(file, 'no database at all')],
    ['an empty file', (file) => writeFileSync(file, '')],
    ['half a database', (file) => writeFileSync(file, readFileSync(file).subarray(0, 20_000))],
    ['a folder', putFolder],
  ])('%s', async (_, damage) => {
    const { place, rows, backup } = await filledPlace('sqlite')
    const { file } = place as FilePlace
    damage(file)
    const before = contentOf(file)
    const { keptAside } = await restoreBackup(place, backup, { context })

    expect(contentOf(keptAside ?? '')).toEqual(before)
    expect(await rowsIn(place)).toEqual(rows)
  })

  test('a log whose file is gone', async () => {
    const { place, rows, backup } = await filledPlace('sqlite')
    const { file } = place as FilePlace
    rmSync(file)
    writeFileSync(`${file}-wal`, 'what is left')
    const { keptAside } = await restoreBackup(place, backup, { context })

    expect(readFileSync(keptAside ?? '', 'utf8')).toBe('what is left')
    expect(existsSync(`${file}-wal`)).toBe(false)
    expect(await rowsIn(place)).toEqual(rows)
  })
})

test('a process that is stopped at any opening of the file while it is restored writes into the new one', async () => {
  for (const opening of inTurn([1, 2, 3, 4], 2)) {
    const { place, backup } = await filledPlace('sqlite')
    const child = stoppedAt(opening, { act: 'append', place, turns: 1 })
    await child.stopped
    const refused = await restoreBackup(place, backup, { context }).then(
      () => undefined,
      (error) => error.code,
    )
    child.go()
    expect([undefined, 'database_in_use']).toContain(refused)
    const said = await child.said
    const turns = (await rowsIn(place))['turns'] ?? []
    expect({ opening, ids: turns.map(({ id }) => id) }).toEqual({
      opening,
      ids: expect.arrayContaining([said.turnId]),
    })
  }
})

/** The database as it was when nobody had it open, in a folder of its own. */
function copyOf(place: DatabaseLocation, folder: string): FilePlace {
  const file = join(folder, 'heddle.db')
  cpSync((place as FilePlace).file, file)
  return { kind: 'sqlite', file, durability: 'full' }
}

async function killedAt(point: CrashPoint, act: Act): Promise<number | NodeJS.Signals> {
  return start(await bundled(program), act, { env: { HEDDLE_CRASH_AT: point } }).end
}

function filesBeside({ file }: FilePlace): string[] {
  return readdirSync(dirname(file)).filter((name) => name !== 'heddle.db')
}

function putFolder(file: string): void {
  rmSync(file)
  mkdirSync(file)
  writeFileSync(join(file, 'x'), 'y')
}

function contentOf(path: string): string | string[] {
  return existsSync(join(path, 'x')) ? readdirSync(path) : readFileSync(path, 'latin1')
}

/** A process that stops when it opens the database file for the n-th time. */
function stoppedAt(opening: number, act: Act) {
  const { file } = act.place as FilePlace
  const flags = ['-f', '-P', file, '-e', 'trace=openat', '-e', `inject=openat:signal=STOP:when=${opening}`]
  const path = join(import.meta.dirname, 'programs/act.ts')
  const child: ChildProcess = spawn('strace', [...flags, ...node, path, JSON.stringify(act)])
  onTestFinished(() => void child.kill('SIGKILL'))
  const stopped = Promise.withResolvers<void>()
  child.once('exit', () => stopped.reject(new Error(`it ended without opening the file ${opening} times`)))
  let pid = 0
  createInterface({ input: child.stderr ?? process.stdin }).on('line', (line) => {
    const [, found] = /^(?:\[pid +(\d+)\] )?--- stopped by SIGSTOP/.exec(line) ?? []
    if (!/stopped by SIGSTOP/.test(line)) return
    pid = Number(found ?? 0)
    stopped.resolve()
  })
  const said = new Promise<{ turnId: string }>((resolve) => {
    createInterface({ input: child.stdout ?? process.stdin }).once('line', (line) => resolve(JSON.parse(line)))
  })
  return { stopped: stopped.promise, said, go: () => process.kill(pid, 'SIGCONT') }
}
