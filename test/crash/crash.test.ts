import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { type Cycle, type CycleResult, runCycle } from './cycle.ts'
import { type Ground, layGround } from './fixture.ts'
import { placesOf, spread } from './places.ts'
import type { ScenarioName } from './scenarios.ts'

// The short form of `npm run crash`, which dies at every place: a scenario is played undisturbed, which tells where it can
// die, and then dies at one of those places, another one each day.

// Far more than it takes: a machine that does other things, too, is no failure.
const patience = 180_000
const sqlite = 'sqlite'
const postgres = () => inject('postgresUrl')
let ground: Ground

beforeAll(async () => {
  ground = await layGround(inject('runFolder'))
}, patience)
afterAll(() => ground.remove())

describe('a process that is killed', () => {
  test(
    'F01: at any moment of its first start leaves nothing undone and nothing done twice',
    () => killed('fresh', sqlite),
    patience,
  )

  test('F01 F02: at any moment of a turn leaves one outcome', () => killed('plain', sqlite), patience)

  test(
    'F01: among tool calls of every effect repeats what may be repeated and tells of the rest',
    () => killed('tools', sqlite),
    patience,
  )

  test(
    'F03: with ten children and a question in between leaves every result told once, and one wake',
    () => killed('join', sqlite),
    patience,
  )

  test.each<[what: string, scenario: ScenarioName, at: string]>([
    ['one sub-agent', 'one', 'settle.before_commit#2'],
    ['a hundred sub-agents', 'hundred', 'settle.after_commit#9'],
    ['sub-agents that wait for theirs', 'deep', 'settle.before_commit#5'],
    ['sub-agents that go on with the results of theirs', 'deep', 'settle.after_commit#7'],
  ])(
    'with %s at work leaves every result announced once and none lost',
    async (_, scenario, at) => {
      const { killed, problems } = await play({ scenario, at: [at] })
      expect({ killed, problems }).toEqual({ killed: 1, problems: [] })
    },
    patience,
  )

  test.each(['sqlite', 'postgres'])(
    'while it removes the transcripts of its sub-agents on %s leaves every result told once, and each transcript whole or gone',
    (name) => killed('tidy', name === 'sqlite' ? sqlite : postgres(), { reached: 'tidy.before_commit#1' }),
    patience,
  )

  test(
    'I3: anywhere in a plan of seven tasks begins each once, in its order, and tells its end once',
    () => killed('plan', sqlite),
    patience,
  )

  test(
    'I3: anywhere in a plan of mediocre models leaves every task told as it ended',
    () => killed('hall', sqlite),
    patience,
  )

  test('I12: in the middle of a budget spends nothing twice', () => killed('budget', sqlite), patience)

  test(
    'while it makes room in its window leaves one summary and one outcome',
    () => killed('compact', sqlite),
    patience,
  )

  test('F04: while a request is cancelled leaves no child behind', () => killed('disown', sqlite), patience)

  test(
    'S07: while it adds a user, answers with a key or revokes a token leaves each done once and told once',
    () => killed('access', sqlite),
    patience,
  )

  test(
    'F12: again and again while it recovers leaves one outcome',
    async () => {
      const first = await lastPlace('plain')
      const { passes } = await play({ at: [first] })
      // In the order in which they are passed: each recovery gets a little further than the one before.
      const during = placesOf(passes.recovery).filter((place) => place.endsWith('#1'))
      const { killed, problems } = await play({ at: [first, ...during.slice(0, 6)] })
      expect({ problems, wasKilledOften: killed > 4 }).toEqual({ problems: [], wasKilledOften: true })
    },
    patience,
  )

  test(
    'F03: on PostgreSQL leaves its runs to whoever sees that its lease has passed',
    () => killed('join', postgres()),
    patience,
  )
})

describe.each(['sqlite', 'postgres'])('one of two processes that is killed on %s', (name) => {
  test(
    'F03: leaves its share of ten children to the other',
    async () => {
      const database = name === 'sqlite' ? sqlite : postgres()
      const together = await play({ scenario: 'join', database, mode: 'first' })
      const dies = (mode: 'first' | 'second') => {
        const places = inTurn(placesOf(together.passes[mode]), 1)
        return places.map((at): Cycle => ({ scenario: 'join', database, mode, at: [at] }))
      }
      const results = await Promise.all([...dies('first'), ...dies('second')].map((cycle) => runCycle(ground, cycle)))
      expect(results.flatMap(({ problems }) => problems)).toEqual([])
    },
    patience,
  )
})

/** Plays a scenario once, then kills it at a named place or one of those that it passed, which must be forgiven. */
async function killed(scenario: ScenarioName, database: string, { reached }: { reached?: string } = {}): Promise<void> {
  const undisturbed = await play({ scenario, database })
  const passed = placesOf(undisturbed.passes.first).filter(isAtWork)
  if (reached !== undefined) expect(passed).toContain(reached)
  // At the first place nothing has been done yet, which matters only where nothing is there yet.
  const places = reached === undefined ? turns(scenario === 'fresh' ? passed : passed.slice(1)) : [reached]
  const results = [undisturbed]
  for (const at of places) {
    results.push(await play({ scenario, database, at: [at] }))
    if (results.at(-1)?.killed) break
  }
  const outcomes = results.map(({ cycle, problems }) => ({ at: cycle.at, problems }))
  expect(outcomes.filter(({ problems }) => problems.length > 0)).toEqual([])
  expect(results.at(-1)?.killed, 'the process should be killed').toBe(1)
}

/** The place whose turn it is, and others: the same place may be passed less often another time, but seldom. */
function turns(places: string[]): string[] {
  return [...inTurn(places, 1), ...spread(places, 3)]
}

/** A process that comes and goes is left to the long version. */
function isAtWork(place: string): boolean {
  return !place.startsWith('owner.') || place.endsWith('#1')
}

/** Where everything has been done and not yet been written. */
async function lastPlace(scenario: ScenarioName): Promise<string> {
  const { passes } = await play({ scenario })
  return placesOf(passes.first).findLast((place) => !place.startsWith('owner.') && place.includes('.before_')) ?? ''
}

function play(cycle: Partial<Cycle>): Promise<CycleResult> {
  return runCycle(ground, { scenario: 'plain', database: sqlite, mode: 'alone', at: [], ...cycle })
}
