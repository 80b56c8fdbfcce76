import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { Databases } from '../crash/databases.ts'
import { Watch } from '../crash/watch.ts'
import { seededChance } from '../engine/simulator-schedule.ts'
import { inTurn } from '../setup/long.ts'
import { complaintsOf, type Outcome } from './judge.ts'
import { playRound } from './round.ts'
import { soakRows } from './rows.ts'
import { mostAgents } from './stage.ts'

// The short version of `npm run soak -- plans`: one row on each database, with fewer tasks and fewer kills.

// Far more than it takes: a machine that does other things, too, is no failure.
const patience = 180_000
const directory = mkdtempSync(join(tmpdir(), 'heddle-soak-'))
const databases = new Databases(directory)
const checker = new Watch()
afterAll(async () => {
  checker.close()
  await databases.close()
  rmSync(directory, { recursive: true, force: true })
})

// Side by side in `npm run long`: most of it is waiting for processes to start and leases to end.
test.concurrent.each(inTurn(['sqlite-anthropic', 'two-daemons'], 1))(
  '%s: a plan of mediocre models whose daemon is killed ends as a person is told, to the last token',
  async (name) => {
    const row = soakRows.find((each) => each.name === name)
    if (!row) throw new Error(`there is no row ${name}`)
    const outcome = await playRound(row, {
      ...{ server: inject('postgresUrl'), databases, checker, chance: seededChance(1), tasks: 4, mostKills: 1 },
      teller: 'liar',
      onStage: () => undefined,
    })
    expect(complaintsOf(outcome)).toEqual([])
    expect(outcome).toMatchObject({ kills: 1, planned: 4, ended: 4 })
  },
  patience,
)

describe('what is wrong with a plan is told:', () => {
  const good: Outcome = {
    ...{ kills: 3, planned: 2, ended: 2, unended: [], lost: [], doubled: [], untrue: [], sideBySide: 2 },
    usage: { tokens: 0, marked: 0 },
  }

  test('nothing of a good one, and nothing of tokens that are marked', () => {
    expect(complaintsOf(good)).toEqual([])
    expect(complaintsOf({ ...good, usage: { tokens: 40, marked: 40 } })).toEqual([])
  })

  test.each<[string, Partial<Outcome>, RegExp]>([
    ['no plan', { planned: 0, ended: 0 }, /no plan/],
    ['a task that has not ended', { ended: 1, unended: ['task:2 is blocked'] }, /task:2 is blocked/],
    ['tokens that nobody marks', { usage: { tokens: 40, marked: 0 } }, /40 tokens .* neither spent nor marked/],
    ['more tokens than are marked', { usage: { tokens: 41, marked: 40 } }, /41 tokens .* neither spent nor marked/],
    ['more spent than the provider told', { usage: { tokens: -1, marked: 40 } }, /-1 tokens/],
    ['too many at once', { sideBySide: mostAgents + 1 }, /5 tasks were at work side by side, and 4 may be/],
    ['a task that is told wrongly', { untrue: ['task:1 is told as completed'] }, /told as completed/],
  ])('%s', (_, wrong, complaint) => {
    expect(complaintsOf({ ...good, ...wrong })).toEqual([expect.stringMatching(complaint)])
  })
})
