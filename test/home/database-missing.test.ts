import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { databaseLocation, restoreApp } from '../../src/app/app.ts'
import { type DoctorInput, examine } from '../../src/app/home/doctor.ts'
import { loadConfig } from '../../src/config/config.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { schemaOf } from '../../src/store/postgres/server-address.ts'
import { sidecarSuffixes } from '../../src/store/sqlite/file.ts'
import { systemClock } from '../../src/system.ts'
import { newHeddle } from '../cli/heddle.ts'
import { openOwnerApp } from '../setup/owner-app.ts'
import { type Database, databases, newPlace } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }
const folder = '/here'

/** A home on a database of its own, what opens it, and what takes its database away. */
async function newHome(database: Database, home = join(mkdtempSync(join(tmpdir(), 'heddle-gone-')), 'home')) {
  const { place, remove } = newPlace(database)
  onTestFinished(remove)
  onTestFinished(() => rmSync(join(home, '..'), { recursive: true, force: true }))
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  if (place.kind === 'postgres') config.database = place.url
  const settings = { paths, config, env: {} }
  return {
    settings,
    paths,
    open: () => openOwnerApp(settings),
    async lose(): Promise<void> {
      if (place.kind === 'sqlite')
        for (const part of ['', ...sidecarSuffixes]) rmSync(paths.database + part, { force: true })
      else await onServer(`DROP SCHEMA ${schemaOf(place.url)} CASCADE`)
    },
    isThere: async () =>
      place.kind === 'sqlite'
        ? existsSync(paths.database)
        : (await onServer(`SELECT FROM pg_namespace WHERE nspname = '${schemaOf(place.url)}'`)) > 0,
  }
}

async function onServer(sql: string): Promise<number> {
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  const { rowCount } = await client.query(sql)
  await client.end()
  return rowCount ?? 0
}

describe.each(databases)('a database on %s that is gone', (database) => {
  const test = testOn(database)
  test('is not replaced by an empty one: the refusal names the newest backup and how to begin anew', async () => {
    const home = await newHome(database)
    const app = await home.open()
    await app.append(folder, { session: 'main', draft })
    const backup = join(home.paths.backups, 'today.backup')
    await app.backup(backup)
    await app.close()
    await (await home.open()).close()
    await home.lose()
    for (let start = 0; start < 2; start++) {
      const refusal = await home.open().catch((error) => error)
      expect(refusal).toMatchObject({
        code: 'database_missing',
        remedy: expect.stringContaining(`heddle restore ${backup}`),
      })
      expect(refusal.remedy).toContain(`rm ${home.paths.knownDatabases}`)
      expect(await home.isThere()).toBe(false)
    }

    await restoreApp(home.settings, backup)
    const restored = await home.open()
    expect(await restored.log(folder, {})).toHaveLength(1)
    await restored.close()

    await home.lose()
    rmSync(home.paths.knownDatabases)
    const fresh = await home.open()
    expect((await fresh.sessions()).rows).toEqual([])
    await fresh.close()
    await home.lose()
    await expect(home.open()).rejects.toMatchObject({ code: 'database_missing' })
  })

  test('of an older heddle, which left no note, is noted when it is opened', async () => {
    const home = await newHome(database)
    await (await home.open()).close()
    rmSync(home.paths.knownDatabases)
    await (await home.open()).close()
    expect(readFileSync(home.paths.knownDatabases, 'utf8')).toMatch(new RegExp(`^${database} `, 'm'))
    await home.lose()
    await expect(home.open()).rejects.toMatchObject({ code: 'database_missing' })
  })

  test('is told by doctor, which makes none', async () => {
    const home = await newHome(database)
    const checked = async () => {
      const checks = await examine(doctorOf(home.settings))
      return checks.find(({ name }) => name === 'database')
    }
    expect(await checked()).toMatchObject({ status: 'ok', detail: expect.stringContaining('none yet') })
    expect(await home.isThere()).toBe(false)
    await (await home.open()).close()
    await home.lose()
    expect(await checked()).toMatchObject({ status: 'fail', remedy: expect.stringContaining('heddle restore') })
    expect(await home.isThere()).toBe(false)
  })

  test('is missed by none of several processes that make it at the same time', async () => {
    const home = await newHome(database)
    const apps = await Promise.all(Array.from({ length: 4 }, home.open))
    await Promise.all(apps.map((app) => app.close()))
    const drafts = readdirSync(home.paths.home).filter((name) => name.endsWith('.tmp'))
    expect(drafts).toEqual([])
    await home.lose()
    await expect(home.open()).rejects.toMatchObject({ code: 'database_missing' })
  })
})

test('a home that is copied elsewhere has its database there, and is refused without it', async () => {
  const home = await newHome('sqlite')
  const app = await home.open()
  await app.append(folder, { session: 'main', draft })
  await app.close()
  const copy = join(mkdtempSync(join(tmpdir(), 'heddle-gone-')), 'home')
  cpSync(home.paths.home, copy, { recursive: true })
  const copied = await newHome('sqlite', copy)
  const there = await copied.open()
  expect(await there.log(folder, {})).toHaveLength(1)
  await there.close()
  await copied.lose()
  await expect(copied.open()).rejects.toMatchObject({ code: 'database_missing' })
  await (await home.open()).close()
})

test('a home that moves on to another database is not asked for it, and still knows the first', async () => {
  const home = await newHome('sqlite')
  await (await home.open()).close()
  const { place, remove } = newPlace('postgres')
  onTestFinished(remove)
  const moved = { ...home.settings, config: { ...home.settings.config } }
  if (place.kind === 'postgres') moved.config.database = place.url
  await (await openOwnerApp(moved)).close()
  await home.lose()
  await expect(home.open()).rejects.toMatchObject({ code: 'database_missing' })
  await (await openOwnerApp(moved)).close()
})

test('every command of such a home says so, and restore brings it back', async () => {
  const heddle = newHeddle()
  onTestFinished(() => heddle.remove())
  await heddle.run('append', '--user', 'question', '--assistant', 'answer')
  const backup = join(heddle.folder, 'a.backup')
  await heddle.run('backup', backup)
  for (const part of ['', ...sidecarSuffixes]) rmSync(join(heddle.home, `heddle.db${part}`), { force: true })
  for (const command of [['sessions'], ['ask', 'x'], ['up']]) {
    const { code, out } = await heddle.run(...command, '--json')
    expect({ code, error: JSON.parse(out).error.code }).toEqual({ code: 1, error: 'database_missing' })
  }
  expect(existsSync(join(heddle.home, 'heddle.db'))).toBe(false)
  expect(await heddle.json('restore', backup)).toMatchObject({ ok: true, turns: 1, keptAside: null })
  expect(await heddle.json('log')).toMatchObject({ turns: [{}] })
})

function doctorOf({ paths, env, config }: Parameters<typeof openOwnerApp>[0]): DoctorInput {
  return {
    ...{ home: paths.home, paths, configFile: paths.config, env, userHome: '/nowhere', nodeVersion: process.version },
    daemon: { find: async () => undefined, version: '0', socket: join(paths.run, 'none') },
    clock: systemClock,
    isDeep: false,
    placeOf: () => databaseLocation({ paths, config }),
    agentNames: () => ['coordinator'],
  }
}
