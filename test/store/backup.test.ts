import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CrashPoint } from '../../src/domain/crash-points.ts'
import { append } from '../../src/engine/turns/append.ts'
import { backupBeforeUpgrade, writeBackup } from '../../src/store/backup/backup.ts'
import { readBackup } from '../../src/store/backup/backup-file.ts'
import { savePrompt } from '../../src/store/rows/turns.ts'
import { manualClock } from '../../src/testing.ts'
import { bundled, start } from '../contract/program.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { backupOf, backupOptions, newFolder, readLines, writeLines } from './backup-lines.ts'
import { emptyPlace, emptyWorld, filledPlace, filledTurns, filledWorld, openWorld } from './filled-world.ts'
import { laterMigrations, schemaLater, schemaNow } from './later-schema.ts'

describe.each(databases)('a backup of %s', (database) => {
  const test = testOn(database)
  test('is one file of plain lines, for its owner only, and leaves nothing else behind', async () => {
    const { store } = await filledWorld(database)
    const folder = newFolder()
    const file = join(folder, 'b.backup')
    const clock = manualClock(Date.UTC(2026, 10, 7))
    const { bytes, turns } = await writeBackup(store, file, { ...backupOptions, clock })

    expect({ bytes, turns }).toEqual({ bytes: statSync(file).size, turns: filledTurns })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['b.backup'])
    const lines = readLines(file)
    // SQLite lists the tables that a migration rebuilt after those that are older than it.
    const rebuilt = database === 'sqlite' ? ['tasks', 'agent_results'] : []
    const last = database === 'sqlite' ? ['tokens'] : []
    const tables = [
      'meta',
      'personas',
      'prompts',
      'segments',
      'runs',
      'turns',
      'threads',
      'sessions',
      'events',
      ...['owners', 'inbox', 'agent_results', 'joins', 'join_members', 'steps'],
      ...['approvals', 'grants', 'file_changes', 'file_contents', 'projects', 'tasks', 'task_edges'],
      ...['memories', 'memories_archive', 'memory_words', 'memory_recalls', 'narratives'],
      'request_totals',
      'narrative_recalls',
      'id_tails',
      ...['home_files', 'passages', 'passage_words', 'passage_recalls'],
      ...['embedders', 'memory_vectors', 'usage', 'users', 'tokens', 'audit', 'idempotency', 'narrative_tasks'],
    ]
      .filter((table) => ![...rebuilt, ...last].includes(table))
      .concat(rebuilt)
      // Those of later migrations.
      .concat([
        'untrusted_files',
        'untrusted_commands',
        'cron_jobs',
        'cron_fires',
        'outbox',
        'search_documents',
        'search_words',
        'search_files',
        'search_passages',
        'policies',
        'policy_versions',
        ...last,
        'command_changes',
      ])
    expect(lines[0]).toEqual({
      format: 'heddle-backup/1',
      schema: schemaNow,
      heddle: '0.1.0',
      createdAt: '2026-11-07T00:00:00.000Z',
      tables,
    })
    expect(lines[2]).toEqual([2, { hash: expect.any(String), text: 'You are calm.\u2028' }])
    const step = lines.find((line) => Array.isArray(line) && tables[line[0]] === 'steps') as [number, object]
    expect(Object.keys(step[1])).toEqual(['run_id', 'seq', 'kind', 'payload_json', 'at', 'touched_folder'])
    expect(lines.at(-1)).toEqual({
      rows: expect.objectContaining({ meta: 0, turns: filledTurns, sessions: 3 }),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  test('of an older schema needs nothing that only its own program knows', async () => {
    const { backup } = await filledPlace(database, { migrations: laterMigrations })
    const { header, rows } = await readBackup(backup)
    expect(header.schema).toBe(schemaLater)
    expect(rows.get('marks')).toBe(0)
    expect(rows.get('turns')).toBe(filledTurns)
  })

  test('never replaces a file, unless that is asked for', async () => {
    const { store } = await emptyWorld(database)
    const file = join(newFolder(), 'b.backup')
    writeFileSync(file, 'precious')

    await expect(writeBackup(store, file, backupOptions)).rejects.toMatchObject({ code: 'backup_exists' })
    expect(readFileSync(file, 'utf8')).toBe('precious')
    await writeBackup(store, file, { ...backupOptions, overwrite: true })
    await expect(readBackup(file)).resolves.toMatchObject({ rows: expect.any(Map) })
  })

  test('holds few rows in memory when rows are large', async () => {
    const runtime = await emptyWorld(database)
    const megabyte = 'x'.repeat(1024 * 1024)
    for (let count = 0; count < 60; count++)
      await runtime.store.write('append', (tx) => savePrompt(tx, `prompt ${count}`, megabyte))
    const sizes = await runtime.store.snapshot(async (rows) => {
      const found: number[] = []
      for await (const page of rows.pages('prompts')) found.push(page.length)
      return found
    })
    expect(sizes.reduce((sum, size) => sum + size)).toBe(60)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50)
  })

  test.each<[CrashPoint, boolean]>([
    ['backup.before_rename', false],
    ['backup.after_rename', true],
  ])('that is killed at %s has its name only if it is whole', async (point, isThere) => {
    const { place } = await filledPlace(database)
    const file = join(newFolder(), 'b.backup')
    const act = { act: 'backup', place, file }
    expect(await start(await bundled('../store/programs/act'), act, { env: { HEDDLE_CRASH_AT: point } }).end).toBe(
      'SIGKILL',
    )

    expect(existsSync(file)).toBe(isThere)
    if (isThere) expect((await readBackup(file)).rows.get('turns')).toBe(filledTurns)
    const { store } = await openWorld(place)
    await writeBackup(store, join(dirname(file), 'second.backup'), backupOptions)
  })

  test('before an upgrade is named after the schema it holds, and two of one moment are both kept', async () => {
    const { store } = await filledWorld(database)
    const folder = join(newFolder(), 'backups')
    const clock = manualClock(Date.UTC(2026, 10, 7, 9, 30, 1, 5))
    const make = () => backupBeforeUpgrade(store, folder, 1, { ...backupOptions, clock })

    expect([await make(), await make()]).toEqual([
      join(folder, 'heddle-schema-1-20261107_093001_005.backup'),
      join(folder, 'heddle-schema-1-20261107_093001_005-2.backup'),
    ])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })
})

test('a backup into a folder that is missing says what to do', async () => {
  const { store } = await openWorld(emptyPlace('sqlite'))
  await expect(writeBackup(store, join(newFolder(), 'none', 'b.backup'), backupOptions)).rejects.toMatchObject({
    code: 'backup_failed',
    remedy: expect.stringContaining('an existing, writable folder'),
  })
})

describe('a backup file is refused', () => {
  test('when it is cut anywhere', async () => {
    const { backup } = await filledPlace('sqlite')
    const whole = readFileSync(backup)
    const file = join(newFolder(), 'cut.backup')
    for (let length = 0; length < whole.length; length += 7) {
      writeFileSync(file, whole.subarray(0, length))
      const { code } = await readBackup(file).catch((error) => error)
      expect(['backup_damaged', 'backup_foreign'], `cut to ${length} bytes`).toContain(code)
    }
  })

  test('when any of its bits was flipped, unless that bit says nothing about its content', async () => {
    const { backup } = await filledPlace('sqlite')
    const whole = readFileSync(backup)
    const text = gunzipSync(whole)
    const file = join(newFolder(), 'flipped.backup')
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(7), async (at, bit) => {
        const bytes = Buffer.from(whole)
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
        writeFileSync(file, bytes)
        const isRead = await readBackup(file).then(
          () => true,
          (error) => !/^backup_(damaged|foreign)$/.test(error.code),
        )
        expect(isRead && !gunzipSync(bytes).equals(text)).toBe(false)
      }),
      { numRuns: 300 },
    )
  })

  test.each<[string, string, (lines: string[]) => string[]]>([
    ['without its end', 'its end is missing', (lines) => lines.slice(0, -1)],
    ['with a row too few', 'does not match its checksum', (lines) => lines.filter((_, index) => index !== 3)],
    [
      'with another word in a row',
      'does not match its checksum',
      (lines) => lines.map((line) => line.replace('calm', 'mean')),
    ],
    ['with a second backup behind it', 'there is data after its end', (lines) => [...lines, ...lines]],
    ['with a line that is not JSON', 'cannot be read', (lines) => lines.with(2, '[2,{')],
    ['with a row of a table it does not name', 'unknown table', (lines) => lines.with(2, '[99,{}]')],
  ])('%s', async (_, reason, change) => {
    const { backup } = await filledPlace('sqlite')
    const lines = gunzipSync(readFileSync(backup)).toString().trimEnd().split('\n')
    writeFileSync(backup, gzipSync(`${change(lines).join('\n')}\n`))
    await expect(readBackup(backup)).rejects.toMatchObject({
      code: 'backup_damaged',
      message: expect.stringContaining(reason),
      remedy: 'use another backup; nothing was changed',
    })
  })

  test('with fewer rows than its end promises', async () => {
    const { backup } = await filledPlace('sqlite')
    const lines = readLines(backup)
    writeLines(backup, lines)
    const text = gunzipSync(readFileSync(backup)).toString().replace('"turns":6', '"turns":7')
    writeFileSync(backup, gzipSync(text))
    await expect(readBackup(backup)).rejects.toMatchObject({
      code: 'backup_damaged',
      message: expect.stringContaining('6 of 7 rows of turns'),
    })
  })

  test.each<[string, string, (file: string) => void]>([
    ['backup_foreign', 'a text', (file) => writeFileSync(file, 'dear diary')],
    ['backup_foreign', 'packed text', (file) => writeFileSync(file, gzipSync('dear diary\n'))],
    ['backup_damaged', 'an empty file', (file) => writeFileSync(file, '')],
    [
      'backup_newer',
      'a format of the future',
      (file) => writeFileSync(file, gzipSync('{"format":"heddle-backup/2"}\n')),
    ],
    ['backup_missing', 'nothing', () => undefined],
    ['backup_unreadable', 'a folder', (file) => mkdirSync(file)],
  ])('as %s when it is %s', async (code, _, make) => {
    const file = join(newFolder(), 'x.backup')
    make(file)
    await expect(readBackup(file)).rejects.toMatchObject({ code, message: expect.stringContaining(file) })
  })
})

test('values that JSON lacks survive a backup', async () => {
  const runtime = await openWorld(emptyPlace('sqlite'))
  const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, costUsd: Number.POSITIVE_INFINITY }
  const draft = { query: [{ content: 'q' }], response: { content: 'a' }, usage }
  await append(runtime, { folder: '/', label: 'main', draft })
  const costs: unknown[] = []
  await readBackup(await backupOf(runtime.store), (table, rows) => {
    if (table === 'turns') costs.push(...rows.map((row) => row['cost_usd']))
  })
  expect(costs).toEqual([Number.POSITIVE_INFINITY])
})
