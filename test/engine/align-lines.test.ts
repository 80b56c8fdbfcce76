import { expect, test } from 'vitest'
import { alignLines } from '../../src/engine/files/align-lines.ts'
import { alignReordered } from '../../src/engine/files/align-reordered.ts'
import { readLineMap, writeLineMap } from '../../src/engine/files/line-map.ts'
import { newLine } from '../../src/engine/files/possible-origins.ts'
import { seededChance } from './simulator-schedule.ts'

const common = ['}', '', '  return', 'import os']

/** Random lines, and these after a few changes, with the old place of each line that stayed. */
function changedLines(chance: (of: number) => number) {
  let count = 0
  const line = () => (chance(3) === 0 ? (common[chance(common.length)] ?? '') : `line ${++count} of all`)
  const old = Array.from({ length: chance(12) }, line)
  const fresh = old.map((text, from) => ({ text, from }))
  for (let at = 0; at <= chance(3); at++) {
    const added = Array.from({ length: chance(4) }, () => ({ text: line(), from: newLine }))
    fresh.splice(chance(fresh.length + 1), chance(4), ...added)
  }
  return { old, fresh }
}

test('what a line that no other one equals was is among its origins, all of which have its text', () => {
  const chance = seededChance(7)
  for (let round = 0; round < 3000; round++) {
    const { old, fresh } = changedLines(chance)
    const texts = fresh.map(({ text }) => text)
    for (const { from, open } of [alignLines(old, texts), alignReordered(old, texts)])
      for (const [at, { text, from: truth }] of fresh.entries()) {
        const options = open.get(at) ?? [from[at] ?? newLine]
        if (!common.includes(text)) expect(options, JSON.stringify({ old, texts, at })).toContain(truth)
        for (const each of options) if (each >= 0) expect(old[each]).toBe(text)
      }
  }
})

test('equal lines beside each other are left open, unless a block begins as blocks do', () => {
  const listed = ['[', '  {', '    "id": 1', '  }', ']']
  const record = ['  {', '    "id": 0', '  },']
  expect(alignLines(listed, ['[', ...record, ...listed.slice(1)])).toEqual({
    from: [0, newLine, newLine, newLine, 1, 2, 3, 4],
    open: new Map(),
  })
  expect(alignLines(['a row', 'the end'], ['a row', 'a row', 'the end']).open).toEqual(
    new Map([
      [0, [0, newLine]],
      [1, [newLine, 0]],
    ]),
  )
  expect(alignLines(['a row', 'a row', 'the end'], ['a row', 'the end']).open).toEqual(new Map([[0, [0, 1]]]))
})

test('a map and its choices are read as they were written, and those of older records without choices', () => {
  const mapped = {
    map: [{ at: 0, from: 1, count: 3 }],
    choices: [
      { at: 3, count: 2, origins: [4, 6, newLine] },
      { at: 7, count: 1, origins: [-2] },
    ],
  }
  expect(writeLineMap(mapped)).toBe('0,1,3;3,2,4,6,n 7,1,*')
  expect(readLineMap(writeLineMap(mapped))).toEqual(mapped)
  expect(readLineMap(writeLineMap({ map: [], choices: [] }))).toEqual({ map: [], choices: [] })
  expect(readLineMap('0,1,3')).toEqual({ map: mapped.map })
})
