import { expect, test } from 'vitest'
import { firstOf, inTurn, isLong } from './long.ts'
import { databases } from './places.ts'
import { turnsOn } from './test-on.ts'

const rules = ['a', 'b', 'c', 'd', 'e']

const playedOn = (day: number) => databases.map((database) => rules.filter(turnsOn(database, day)))

test('each rule is played on one database a day, and on the other one the next day', () => {
  const days = [
    [
      ['a', 'c', 'e'],
      ['b', 'd'],
    ],
    [
      ['b', 'd'],
      ['a', 'c', 'e'],
    ],
  ]
  expect([playedOn(0), playedOn(1)]).toEqual(isLong ? [0, 1].map(() => [rules, rules]) : days)
})

test('with more turns each rule is played on each database on one of so many days', () => {
  const days = range(4).map((day) => databases.map((database) => rules.filter(turnsOn(database, day, 4))))
  const timesOf = (rule: string) => databases.map((_, at) => days.filter((played) => played[at]?.includes(rule)).length)
  expect(rules.map(timesOf)).toEqual(rules.map(() => (isLong ? [4, 4] : [1, 1])))
})

/** Of so many cases the most that have their turn on one day. */
const lists = range(24).flatMap((last) => [1, 2, 3, 8].map((most) => ({ cases: range(last + 1), most })))

type Taken = (list: (typeof lists)[number], isItsTurn: () => boolean, day: number) => number[]

const ways: [what: string, taken: Taken][] = [
  ['within a rule', ({ cases, most }, isItsTurn, day) => (isItsTurn() ? inTurn(cases, most, day) : [])],
  ['that is a rule of its own', ({ cases, most }, isItsTurn, day) => inTurn(cases, most, day).filter(isItsTurn)],
  [
    'of which a rule takes every so many-th',
    ({ cases, most }, isItsTurn, day) => {
      const step = isLong ? 1 : Math.ceil(cases.length / most)
      return isItsTurn() ? cases.filter((at) => at % step === firstOf(step, day) - 1) : []
    },
  ],
]

test.each(ways)('every case %s meets every database within two rounds of all cases', (_, taken) => {
  const missed = databases.flatMap((database) =>
    [0, 1].flatMap((rulesBefore) =>
      lists.flatMap(({ cases, most }) => {
        const met = range(2 * Math.ceil(cases.length / most)).flatMap((day) => {
          const isItsTurn = turnsOn(database, day)
          range(rulesBefore).forEach(isItsTurn)
          return taken({ cases, most }, isItsTurn, day)
        })
        const left = cases.filter((each) => !met.includes(each))
        return left.length > 0 ? [{ database, rulesBefore, cases: cases.length, most, left }] : []
      }),
    ),
  )
  expect(missed).toEqual([])
})

function range(length: number): number[] {
  return [...Array(length).keys()]
}
