import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import type { User } from '../../src/domain/access/user.ts'
import type { Event } from '../../src/domain/event.ts'
import { startOfDay } from '../../src/domain/spending.ts'
import { noUsage } from '../../src/domain/turn.ts'
import { append } from '../../src/engine/turns/append.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { insertToken, listTokens, revokeToken, revokeTokensOf } from '../../src/store/rows/access/tokens.ts'
import { insertUser } from '../../src/store/rows/access/users.ts'
import { followEvents, pruneEvents, readEvents } from '../../src/store/rows/events.ts'
import { usageBy } from '../../src/store/rows/lists/usage-lists.ts'
import { costSince, reserveUsage, settleUsage } from '../../src/store/rows/usage.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Store } from '../../src/store/store.ts'
import { expectSound } from '../contract/whole.ts'
import { inTurn } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { allRows, rowsIn } from './all-rows.ts'
import { backupOf, readLines, writeLines } from './backup-lines.ts'
import {
  drawnToday,
  emptyPlace,
  emptyWorld,
  filledPlace,
  filledTurns,
  filledWorld,
  openWorld,
  spendNow,
} from './filled-world.ts'
import { laterMigrations, schemaLater, schemaNow } from './later-schema.ts'

const ways = databases.flatMap((from) => databases.map((to) => ({ from, to })))
const draft = { query: [{ content: 'and now?' }], response: { content: 'on' } }

const mia: User = {
  ...{ id: 'mia', role: 'public', isTrusted: false, tools: null, folder: '/work' },
  ...{ perDayUsd: null, createdAt: 1, removedAt: null },
}
const token = { kind: 'token' as const, userId: 'mia', scopes: null, createdAt: 1, expiresAt: null }

const meta = { key: 'k', value: 'v' }

// Of four ways one a day.
describe.each(inTurn(ways, 1))('a backup of $from restored into $to', ({ from, to }) => {
  test('gives back every row, and the store goes on from there', async () => {
    const { rows, backup } = await filledPlace(from)
    const place = emptyPlace(to)
    const { bytes } = await restoreBackup(place, backup, { context })

    const runtime = await openWorld(place)
    expect(bytes).toBe(readFileSync(backup).length)
    expect(await allRows(runtime.store)).toEqual(rows)
    expectSound(place)
    const { depth } = await append(runtime, { folder: '/work', label: 'main', draft })
    expect(depth).toBe(5)
    const numbers = (await allRows(runtime.store))['events']?.map(({ seq }) => seq)
    expect(new Set(numbers).size).toBe((rows['events']?.length ?? 0) + 1)
  })

  test('has no valid token, whether it was revoked since then or not, until the owner makes a new one', async () => {
    const old = await filledWorld(from)
    await old.store.write('access', async (tx) => {
      await insertUser(tx, mia)
      await insertToken(tx, { ...token, hash: 'kept' })
      await revokeToken(tx, await insertToken(tx, { ...token, hash: 'revoked' }), 5)
    })
    const backup = await backupOf(old.store)
    await old.store.write('access', (tx) => revokeTokensOf(tx, 'mia', 6))
    const place = emptyPlace(to)
    expect(await restoreBackup(place, backup, { context })).toMatchObject({ revokedTokens: 1 })

    const { store } = await openWorld(place)
    const tokens = await store.read(listTokens)
    expect(tokens.map(({ revokedAt }) => revokedAt)).toEqual([5, expect.any(Number)])
  })

  test('lets the cursors of the old database expire, and new ones work', async () => {
    const old = await filledWorld(from)
    const [seen] = await nextEvents(old.store, 1)
    const place = emptyPlace(to)
    await restoreBackup(place, await backupOf(old.store), { context })

    const { store } = await openWorld(place)
    await expect(store.read((rows) => readEvents(rows, seen?.cursor))).rejects.toMatchObject({ code: 'cursor_expired' })
    const [first, second] = await nextEvents(store, 2)
    expect(await nextEvents(store, 1, first?.cursor)).toEqual([second])
  })

  test('forgets which events were pruned, since their places mean nothing elsewhere', async () => {
    const old = await filledWorld(from)
    await old.store.write('prune', (tx) => pruneEvents(tx, context.clock.now() + 1000))
    const { turnId } = await append(old, { folder: '/work', label: 'main', draft })
    const place = emptyPlace(to)
    await restoreBackup(place, await backupOf(old.store), { context })

    const runtime = await openWorld(place)
    expect((await allRows(runtime.store))['meta']).toEqual([])
    const [only] = await nextEvents(runtime.store, 1)
    expect(only?.subject).toBe(`turn:${turnId}`)
    const next = await append(runtime, { folder: '/work', label: 'main', draft })
    const [after] = await nextEvents(runtime.store, 1, only?.cursor)
    expect(after?.subject).toBe(`turn:${next.turnId}`)
  })
})

describe.each(databases)('restoring into %s', (database) => {
  const test = testOn(database)
  test('keeps aside what was there, whole', async () => {
    const { place, rows } = await filledPlace(database)
    const empty = await emptyWorld(database)
    const { keptAside, turns } = await restoreBackup(place, await backupOf(empty.store), { context })

    expect(turns).toBe(0)
    expect((await rowsIn(place))['turns']).toEqual([])
    expect(await rowsIn(asidePlace(place, keptAside))).toEqual(rows)
  })

  test("does not forget what was spent today: the day's budget counts it, and usage lists it", async () => {
    const { store, place } = await filledWorld(database)
    const now = context.clock.now()
    const call = (runId: string, at: number) => ({
      runId,
      call: 1,
      rootRunId: runId,
      model: 'main',
      principal: 'owner',
      at,
    })
    const spend = async ({ at, ...of }: ReturnType<typeof call>) =>
      store.write('step', async (tx) => {
        const usage = { inputTokens: 10, outputTokens: 1, cachedTokens: 0, costUsd: 2 }
        await reserveUsage(tx, of, usage, at)
        await settleUsage(tx, of, usage)
      })
    await spend(call('before-the-backup', now))
    const backup = await backupOf(store)
    await spend(call('yesterday', now - 86_400_000))
    await spend(call('today', now))
    await store.write('step', (tx) => reserveUsage(tx, call('under-way', now), { ...noUsage, costUsd: 3 }, now))
    await store.close()
    await restoreBackup(place, backup, { context })
    const after = await openWorld(place)
    const listed = await after.store.read((rows) => usageBy(rows, 'run', { since: 0 }, {}))
    expect(listed.map(({ key, sums }) => [key, sums[0]?.state]).toSorted()).toEqual([
      ['before-the-backup', 'spent'],
      ['today', 'spent'],
      ['under-way', 'lost'],
    ])
    expect(await after.store.read((rows) => costSince(rows, startOfDay(now)))).toBe(7)
  })

  test('carries what was spent today out of an older schema, too', async () => {
    const { backup } = await filledPlace(database)
    const place = emptyPlace(database)
    const old = await openWorld(place, { migrations: migrations.slice(0, -1) })
    const now = context.clock.now()
    // As the older version wrote it, which knew no principals.
    const amounts = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 3 }
    const call = { run_id: 'today', call: 1, root_run_id: 'today', model: 'main', state: 'reserved', at: now } as const
    await old.store.write('step', (tx) => tx.run(tx.build.insertInto('usage').values({ ...call, ...amounts })))
    await old.store.close()
    await restoreBackup(place, backup, { context })
    expect(await drawnToday(place)).toBe(3)
  })

  test('names the command that goes back, which brings every row and still counts what was spent since', async () => {
    const { place, rows } = await filledPlace(database)
    const empty = await emptyWorld(database)
    const { wayBack } = await restoreBackup(place, await backupOf(empty.store), { context })
    const since = await openWorld(place)
    await spendNow(since.store, 'since-the-restore', 2)
    await since.store.close()

    const [, kept = ''] = /^heddle restore '([^']+)'$/.exec(wayBack ?? '') ?? []
    // As the command line gives it: as a path.
    const undone = await restoreBackup(place, resolve(kept), { context })
    expect(undone).toMatchObject({ turns: filledTurns, wayBack: expect.stringMatching(/^heddle restore '/) })
    expect({ ...(await rowsIn(place)), usage: [] }).toEqual(rows)
    expect(await drawnToday(place)).toBe(2)
  })

  test('answers that nothing was kept where nothing was', async () => {
    const { backup } = await filledPlace(database)
    const { keptAside, turns } = await restoreBackup(emptyPlace(database), backup, { context })
    expect({ keptAside, turns }).toEqual({ keptAside: null, turns: filledTurns })
  })

  test('brings the rows of an older schema up to the newest', async () => {
    const { rows, backup } = await filledPlace(database)
    const place = emptyPlace(database)
    await restoreBackup(place, backup, { context, migrations: laterMigrations })

    const found = await rowsIn(place, { migrations: laterMigrations })
    expect(found['marks']).toHaveLength(filledTurns)
    expect(found['sessions']?.map(({ colour }) => colour)).toEqual(['green', 'green', 'green'])
    expect(found['turns']).toEqual(rows['turns'])
  })

  test('refuses the backup of a newer heddle, and changes nothing', async () => {
    const newer = await filledPlace(database, { migrations: laterMigrations })
    const { place, rows } = await filledPlace(database)

    await expect(restoreBackup(place, newer.backup, { context })).rejects.toMatchObject({
      code: 'schema_newer',
      message: expect.stringContaining(`schema ${schemaLater}; this one supports up to ${schemaNow}`),
      remedy: 'restore it with that newer version; nothing was changed',
    })
    expect(await rowsIn(place)).toEqual(rows)
  })

  test('goes back to the backup of an older heddle from a schema that it does not know', async () => {
    const { place, rows, backup } = await filledPlace(database)
    await (await openStore(place, context, { migrations: laterMigrations })).close()

    await expect(openStore(place, context)).rejects.toMatchObject({ code: 'schema_newer' })
    await restoreBackup(place, backup, { context })
    expect(await rowsIn(place)).toEqual(rows)
  })

  const forgeries: [what: string, table: string, rows: object[]][] = [
    ['a row that refers to nothing', 'steps', [{ run_id: 'gone', seq: 1, kind: 'reply', payload_json: '{}' }]],
    ['a row that breaks a rule of its table', 'segments', [{ id: 'x', parent_id: null, fork_depth: -1 }]],
    ['a row twice', 'meta', [meta, meta]],
    ['a column that would become SQL', 'meta', [{ 'key", "value") VALUES (1, 2) --': 'x' }]],
    ['a table that would become SQL', 'meta" (key) VALUES (1) --', [meta]],
    ['a table that its schema lacks', 'spoons', []],
  ]
  test.each(inTurn(forgeries, 2))('refuses a backup with %s, and changes nothing', async (_, table, forged) => {
    const { place, rows, backup } = await filledPlace(database)
    const [header] = readLines(backup) as [{ tables: string[] }]
    writeLines(backup, [{ ...header, tables: [table] }, ...forged.map((row) => [0, row])])

    await expect(restoreBackup(place, backup, { context })).rejects.toMatchObject({ code: 'backup_damaged' })
    expect(await rowsIn(place)).toEqual(rows)
  })

  test('refuses a damaged backup, and changes nothing', async () => {
    const { place, rows, backup } = await filledPlace(database)
    writeFileSync(backup, readFileSync(backup).subarray(0, -20))

    await expect(restoreBackup(place, backup, { context })).rejects.toMatchObject({ code: 'backup_damaged' })
    expect(await rowsIn(place)).toEqual(rows)
  })

  test('refuses to put aside the tables of another program', async () => {
    const { backup } = await filledPlace(database)
    const place = emptyPlace(database)
    await occupy(place)
    await expect(restoreBackup(place, backup, { context })).rejects.toMatchObject({ code: 'database_foreign' })
  })
})

test('a SQLite file that a process has open is not restored over, and nothing is left behind', async () => {
  const runtime = await filledWorld('sqlite')
  const backup = await backupOf(runtime.store)
  await expect(restoreBackup(runtime.place, backup, { context })).rejects.toMatchObject({
    code: 'database_in_use',
    retry: 'later',
  })
  await append(runtime, { folder: '/work', label: 'main', draft })
  expect(readdirSync(dirname(runtime.store.place)).sort()).toEqual(['heddle.db', 'heddle.db-shm', 'heddle.db-wal'])
})

test('a change that is being made on PostgreSQL is waited for, and not lost when it takes too long', async () => {
  const runtime = await filledWorld('postgres')
  const backup = await backupOf(runtime.store)
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const writing = runtime.store.write('append', async (tx) => {
    await tx.run(tx.build.insertInto('prompts').values({ hash: 'h', text: 't' }))
    begun.resolve()
    await end.promise
  })
  await begun.promise
  await expect(restoreBackup(runtime.place, backup, { context })).rejects.toMatchObject({ code: 'database_in_use' })
  end.resolve()
  await writing
  expect((await allRows(runtime.store))['prompts']).toHaveLength(2)
})

/** The next events as followers see them: on PostgreSQL they wait for every older transaction of the server. */
async function nextEvents(store: Store, count: number, after?: string): Promise<Event[]> {
  const events: Event[] = []
  const options = { signal: new AbortController().signal, ...(after !== undefined && { after }) }
  for await (const event of followEvents(store, context, options)) if (events.push(event) === count) break
  return events
}

function asidePlace(place: DatabaseLocation, kept: string | null): DatabaseLocation {
  if (place.kind === 'sqlite') return { ...place, file: kept ?? '' }
  const url = new URL(place.url)
  url.searchParams.set('schema', kept ?? '')
  return { ...place, url: url.toString() }
}

/** Puts something into the place that is not ours. */
async function occupy(place: DatabaseLocation): Promise<void> {
  if (place.kind === 'sqlite') {
    const db = new DatabaseSync(place.file)
    db.exec('CREATE TABLE theirs (a)')
    db.close()
    return
  }
  const schema = new URL(place.url).searchParams.get('schema')
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  await client.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.theirs (a int)`)
  await client.end()
}
