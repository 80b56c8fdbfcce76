import { expect, test } from 'vitest'
import { chooseCycles, cycleName, cycleNamed, pointOf, secondKills, singleKills, soonerKill } from './choice.ts'
import { type Cycle, type CycleResult, modes } from './cycle.ts'
import type { Passes } from './said.ts'

const plain: Passes = { 'submit.before_commit': 1, 'submit.after_commit': 1, 'settle.before_commit': 40 }
const nothing = { first: {}, second: {}, recovery: {} }

/** What a cycle came to that passed these places and was killed so often. */
function cycleOf(passes: Partial<CycleResult['passes']>, at: string[] = [], killed = at.length): CycleResult {
  const cycle = { scenario: 'plain', database: 'sqlite', mode: 'alone', at } as const
  return { cycle, killed, claims: 1, passes: { ...nothing, ...passes }, recoveryMs: 0, problems: [] }
}

test('as few cycles as there are points kill at each point', () => {
  const kills = singleKills([cycleOf({ first: plain })], modes)
  expect(chooseCycles(kills, 3).map(pointOf).sort()).toEqual(Object.keys(plain).sort())
})

test('a choice has as many cycles as were asked for, and all where there are fewer', () => {
  const kills = singleKills([cycleOf({ first: plain })], ['alone'])
  expect([chooseCycles(kills, 20).length, chooseCycles(kills, 400).length]).toEqual([20, 42])
})

test('what a process does by the clock is a place only once', () => {
  const kills = singleKills([cycleOf({ first: { 'owner.after_commit': 9 } })], ['alone'])
  expect(kills.map(({ at }) => at)).toEqual([['owner.after_commit#1']])
})

test('a cycle that ended before its place is played again at half of its passes, and none that was killed', () => {
  const early = cycleOf({}, ['settle.before_commit#9'], 0)
  expect(soonerKill(early)?.at).toEqual(['settle.before_commit#4'])
  expect(soonerKill(cycleOf({}, ['settle.before_commit#1'], 0))).toBeUndefined()
  expect(soonerKill(cycleOf({}, ['settle.before_commit#9']))).toBeUndefined()
})

test('second kills follow first ones that hit, at each place that the recovery passed', () => {
  const recovery: Passes = { 'recover.before_commit': 1 }
  const [hit, missed] = [
    cycleOf({ recovery }, ['settle.before_commit#1']),
    cycleOf({ recovery }, ['settle.before_commit#2'], 0),
  ]
  expect(secondKills([hit, missed]).map(({ at }) => at)).toEqual([
    ['settle.before_commit#1', 'recover.before_commit#1'],
  ])
})

test('a cycle is played again by the name that the output gives it', () => {
  const at = ['config.after_rename#1', 'restore.between_swap#1']
  const cycle: Cycle = { scenario: 'keep', database: 'sqlite', mode: 'alone', at }
  const undisturbed: Cycle = { scenario: 'join', database: 'postgres://user@server/base', mode: 'first', at: [] }
  expect(cycleNamed(cycleName(cycle))).toEqual(cycle)
  expect(cycleNamed(cycleName(undisturbed))).toEqual({ ...undisturbed, database: 'postgres' })
  expect(['keep on sqlite', 'nothing on sqlite, alone: ', 'keep on sqlite, beside: '].map(cycleNamed)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
