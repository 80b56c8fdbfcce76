import { expect, test } from 'vitest'
import { matchLines } from '../../src/engine/files/match-lines.ts'
import { anyEqualLine, newLine, possibleOrigins } from '../../src/engine/files/possible-origins.ts'
import { seededChance } from './simulator-schedule.ts'

test('a line that stayed may be each line that some shortest difference makes it, and no other', () => {
  const chance = seededChance(5)
  for (let round = 0; round < 1000; round++) {
    const line = () => (chance(3) === 0 ? `line ${chance(5)}` : (['}', '', 'import os'][chance(3)] ?? ''))
    const old = Array.from({ length: chance(7) }, line)
    const fresh = chance(2) === 0 ? Array.from({ length: chance(7) }, line) : changed(old, chance, line)
    const [matched, all] = [matchLines(old, fresh), shortest(old, fresh)]
    const pairs = new Map(matched.flatMap((from, at) => (from === newLine ? [] : [[at, from]])))
    expect(all).toContainEqual(pairs)
    for (const [at, origins] of possibleOrigins(old, fresh).entries()) {
      const from = matched[at] ?? newLine
      const equal = old.flatMap((text, place) => (text === fresh[at] ? place : []))
      const isOnce = equal.length === 1 && fresh.filter((text) => text === fresh[at]).length === 1
      const expected =
        from === newLine
          ? [newLine, ...equal]
          : isOnce
            ? [from]
            : [from, ...all.map((pairs) => pairs.get(at) ?? newLine)]
      expect({ old, fresh, at, origins: sorted(origins) }).toEqual({ old, fresh, at, origins: sorted(expected) })
    }
  }
})

test('of more equal lines than can be listed, any may be the one', () => {
  const many = Array.from({ length: 300 }, () => '}')
  expect(possibleOrigins(many, [...many, 'new', '}'])[301]).toEqual([newLine, anyEqualLine])
})

function changed(old: readonly string[], chance: (of: number) => number, line: () => string): string[] {
  const fresh = [...old]
  for (let at = 0; at <= chance(3); at++)
    fresh.splice(chance(fresh.length + 1), chance(3), ...Array.from({ length: chance(3) }, line))
  return fresh.slice(0, 6)
}

/** All longest common subsequences, each as new places with their old ones. */
function shortest(old: readonly string[], fresh: readonly string[]): Map<number, number>[] {
  const from = (i: number, j: number): [number, number][][] => {
    if (i === old.length || j === fresh.length) return [[]]
    const taken = old[i] === fresh[j] ? from(i + 1, j + 1).map((rest): [number, number][] => [[j, i], ...rest]) : []
    return [...taken, ...from(i + 1, j), ...from(i, j + 1)]
  }
  const all = from(0, 0)
  const longest = all.reduce((most, { length }) => Math.max(most, length), 0)
  return all.filter(({ length }) => length === longest).map((pairs) => new Map(pairs))
}

function sorted(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b)
}
