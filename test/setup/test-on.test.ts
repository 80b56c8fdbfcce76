import { expect, test } from 'vitest'
import { isLong } from './long.ts'
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
