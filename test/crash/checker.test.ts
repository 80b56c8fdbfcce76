import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { type Family, families, type Planted } from './corrupt.ts'
import { type Cycle, liveThrough, writeEvidence } from './cycle.ts'
import type { ProviderLine } from './evidence.ts'
import { type CrashWorld, type Ground, layGround } from './fixture.ts'
import { planted } from './planted.ts'
import { plantedInAccess } from './planted-access.ts'
import { plantedByHand } from './planted-by-hand.ts'
import { plantedInJobs } from './planted-jobs.ts'
import { plantedInPlans } from './planted-plans.ts'
import type { Said } from './said.ts'

// A checker that never complains is worth nothing: of what real cycles left it says nothing, and when one thing is
// changed in a copy of that, it says so.

// Far more than it takes: a machine that does other things, too, is no failure.
const patience = 600_000
const kills: Record<Family, string[]> = {
  join: ['model.after_reply#8'],
  tools: ['tool.after_run#1'],
  budget: ['model.before_request#2'],
  cancel: [],
  hall: ['settle.before_commit#2'],
  // Once the token is revoked, and before that is told.
  access: ['access.after_commit#10'],
  jobs: ['fire.after_commit#1'],
  tree: ['import.after_commit#1'],
  // The second time there is no database of that name, and what was written before lies beside it.
  keep: ['config.after_rename#1', 'restore.between_swap#1'],
}
/** The cycles whose turn it is; all of them in `npm run long`. */
const played = inTurn(families, 1)
const worlds = new Map<Family, CrashWorld>()
const evidence = new Map<Family, string>()
const bare = new Map<Family, string>()
let ground: Ground
let copies = 0

beforeAll(async () => {
  ground = await layGround(inject('runFolder'))
  for (const family of played) await live(family)
}, patience)
afterAll(async () => {
  for (const runtime of worlds.values()) await runtime.remove()
  await ground.remove()
})

test.each(played)('the checker has nothing to say of a good cycle of %s', async (family) => {
  expect(await judged(family, {})).toEqual([])
})

describe('the checker complains of', () => {
  const all = [...planted, ...plantedInPlans, ...plantedInAccess, ...plantedInJobs, ...plantedByHand]
  test.each(all.filter(([, , family]) => played.includes(family)))(
    '%s: %s',
    async (invariant, _what, family, complaint, change) => {
      const said = new RegExp(`^${invariant}: .*${complaint.source}`)
      expect(await judged(family, typeof change === 'string' ? { rows: change } : change)).toContainEqual(
        expect.stringMatching(said),
      )
    },
  )
})

async function live(family: Family): Promise<void> {
  const cycle: Cycle = { scenario: family, database: 'sqlite', mode: 'alone', at: kills[family] }
  const runtime = await ground.newTestRuntime(family, 'sqlite')
  worlds.set(family, runtime)
  const story = await liveThrough(ground, runtime, cycle)
  expect(story.killed, `kills of ${family}`).toBe(cycle.at.length)
  evidence.set(family, writeEvidence(runtime, cycle, story))
  bare.set(family, bareCopy(runtime.directory))
}

/** What the checker says of a copy of what the cycle left, with one thing made wrong in it. */
async function judged(family: Family, change: Planted): Promise<string[]> {
  const original = worlds.get(family)?.directory ?? ''
  const copy = `${original}-copy-${++copies}`
  cpSync(original, copy, { recursive: true })
  const file = join(copy, 'evidence.json')
  writeFileSync(file, readFileSync(evidence.get(family) ?? '', 'utf8').replaceAll(`${original}/`, `${copy}/`))
  const { homes, providerLog, toolLog, moments } = JSON.parse(readFileSync(file, 'utf8'))
  const { rows } = change
  if (rows !== undefined) {
    cpSync(bare.get(family) ?? '', join(homes[0], 'heddle.db'))
    onBare(join(homes[0], 'heddle.db'), (database) => database.exec(rows))
  }
  if (change.lock !== undefined) writeFileSync(join(homes[0], 'run', change.lock), '')
  const { provider, tools, moment, said } = change
  if (said)
    rewrite(file, ([line = '']) => [JSON.stringify(changed(parse<{ said: Said[] }>(line), (all) => said(all.said)))])
  if (provider)
    rewrite(providerLog, (lines) => provider(lines.map(parse<ProviderLine>)).map((line) => JSON.stringify(line)))
  if (tools) rewrite(toolLog, tools)
  if (moment) rewrite(moments[0], ([line = '']) => [JSON.stringify(changed(parse(line), moment))])
  return ground.checker.judge(file)
}

/** A copy of the cycle's database without anything that keeps rows right, made once for all that is planted in it. */
function bareCopy(directory: string): string {
  const bare = `${directory}-bare.db`
  cpSync(join(directory, 'home/heddle.db'), bare)
  onBare(bare, (database) => {
    // No table that a view reads can be renamed.
    const views = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'view'`).all()
    for (const { name } of views) database.exec(`DROP VIEW ${name}`)
    const tables = database
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`)
      .all()
    for (const { name } of tables)
      database.exec(
        `CREATE TABLE bare AS SELECT * FROM ${name}; DROP TABLE ${name}; ALTER TABLE bare RENAME TO ${name}`,
      )
  })
  return bare
}

function onBare(file: string, act: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; BEGIN')
  act(database)
  database.exec('COMMIT')
  database.close()
}

function rewrite(file: string, change: (lines: string[]) => string[]): void {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  writeFileSync(
    file,
    change(lines)
      .map((line) => `${line}\n`)
      .join(''),
  )
}

function parse<T>(line: string): T {
  return JSON.parse(line)
}

function changed<T>(value: T, change: (value: T) => void): T {
  change(value)
  return value
}
