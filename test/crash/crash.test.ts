import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { firstOf, inTurn, today } from '../setup/long.ts'
import { type Cycle, type CycleResult, type Mode, runCycle } from './cycle.ts'
import { type Ground, layGround } from './fixture.ts'
import { anyPlace } from './places.ts'
import type { ScenarioName } from './scenarios.ts'

// The short form of `npm run crash`, which dies at every place of every scenario: some scenarios a day, each at one of the
// places that it passes, and others the next day.

// Far more than it takes: a machine that does other things, too, is no failure.
const patience = 180_000
const sqlite = 'sqlite'
const postgres = () => inject('postgresUrl')
let ground: Ground

beforeAll(async () => {
  ground = await layGround(inject('runFolder'))
}, patience)
afterAll(() => ground.remove())

/** Each scenario with what must come of it, and about how many places it passes. */
const scenarios: [rule: string, scenario: ScenarioName, places: number][] = [
  ['F01: at any moment of its first start leaves nothing undone and nothing done twice', 'fresh', 12],
  ['I3: anywhere in a plan of seven tasks begins each once, in its order, and tells its end once', 'plan', 86],
  ['F01 F02: at any moment of a turn leaves one outcome', 'plain', 6],
  ['I12: in the middle of a budget spends nothing twice', 'budget', 24],
  ['F03: with ten children and a question in between leaves every result told once, and one wake', 'join', 124],
  ['while it makes room in its window leaves one summary and one outcome', 'compact', 60],
  ['F01: among tool calls of every effect repeats what may be repeated and tells of the rest', 'tools', 22],
  ['I3: anywhere in a plan of mediocre models leaves every task told as it ended', 'hall', 174],
  ['F04: while a request is cancelled leaves no child behind', 'disown', 39],
  [
    'S07: while it adds a user, answers with a key or revokes a token leaves each done once and told once',
    'access',
    54,
  ],
  ['I2: while people change the tree, undo a write or import turns leaves each done once', 'tree', 84],
  ['I2: while people set a value, back up or restore leaves all of it or nothing', 'keep', 36],
]

describe('a process that is killed', () => {
  test.each(inTurn(scenarios, 2))(
    '%s',
    (_, scenario, places) => dies({ scenario }, places, scenarios.length / 2),
    patience,
  )

  test.each(
    inTurn<[what: string, scenario: ScenarioName, point: string, place: number]>(
      [
        ['one sub-agent', 'one', 'settle.before_commit', 2],
        ['a hundred sub-agents', 'hundred', 'settle.after_commit', 9],
        ['sub-agents that wait for theirs', 'deep', 'settle.before_commit', 5],
        ['sub-agents that go on with the results of theirs', 'deep', 'settle.after_commit', 7],
      ],
      1,
    ),
  )(
    'with %s at work leaves every result announced once and none lost',
    // Runs that end at once share a commit: there may be fewer, by a few.
    (_, scenario, point, place) => diesAt({ scenario }, point, place, (n) => n - 1),
    patience,
  )

  test.each(inTurn(['postgres', 'sqlite'], 1))(
    'while it removes the transcripts of its sub-agents on %s leaves every result told once, and each transcript whole or gone',
    async (name) => {
      const database = name === 'sqlite' ? sqlite : postgres()
      const { killed, problems } = await play({ scenario: 'tidy', database, at: ['tidy.before_commit#1'] })
      expect({ killed, problems }).toEqual({ killed: 1, problems: [] })
    },
    patience,
  )

  test(
    'F12: again and again while it recovers leaves one outcome',
    async () => {
      // When everything has been done and not yet been written; then each recovery gets a little further than the one before.
      const at = ['settle.before_commit#1', ...[1, 2, 4, 5].map((n) => `${anyPlace}#${n}`)]
      const { killed, problems } = await play({ at })
      expect({ problems, wasKilledOften: killed > 3 }).toEqual({ problems: [], wasKilledOften: true })
    },
    patience,
  )

  test(
    'F03: on PostgreSQL leaves its runs to whoever sees that its lease has passed',
    () => dies({ scenario: 'join', database: postgres() }, 124, 1),
    patience,
  )
})

describe('one of two processes that is killed', () => {
  const pairs: [mode: Mode, name: string][] = [
    ['first', 'sqlite'],
    ['second', 'postgres'],
    ['second', 'sqlite'],
    ['first', 'postgres'],
  ]
  test.each(inTurn(pairs, 1))(
    'F03: leaves its share of ten children to the other (the %s, on %s)',
    (mode, name) =>
      dies({ scenario: 'join', database: name === 'sqlite' ? sqlite : postgres(), mode }, 36, pairs.length),
    patience,
  )
})

/**
 * Dies at the place whose turn it is. The place changes each time that the cycle has its turn, once in so many days: one that
 * changed every day would come to few of the places.
 */
function dies(cycle: Partial<Cycle>, places: number, days: number): Promise<void> {
  return diesAt(cycle, anyPlace, firstOf(places, Math.floor(today / days)), (place) => Math.floor(place / 2))
}

/** Dies at the n-th such place, or sooner where fewer are passed, which must be forgiven. */
async function diesAt(cycle: Partial<Cycle>, point: string, n: number, sooner: (n: number) => number): Promise<void> {
  let place = n
  let result = await play({ ...cycle, at: [`${point}#${place}`] })
  while (result.killed === 0 && result.problems.length === 0 && place > 1) {
    place = sooner(place)
    result = await play({ ...cycle, at: [`${point}#${place}`] })
  }
  const { killed, problems } = result
  expect({ place, killed, problems }).toEqual({ place, killed: 1, problems: [] })
}

function play(cycle: Partial<Cycle>): Promise<CycleResult> {
  return runCycle(ground, { scenario: 'plain', database: sqlite, mode: 'alone', at: [], ...cycle })
}
