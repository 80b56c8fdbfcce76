import { expect, test } from 'vitest'
import { type CrashPoint, crashAt, crashPoints, writeAreas } from '../../src/domain/crash-points.ts'

/** Passes points until the process would have died; answers how often each was passed by then. */
function passesUntilDeath(setting: string | undefined, points: CrashPoint[]): number | null {
  let isDead = false
  const crash = crashAt(setting, () => {
    isDead = true
  })
  for (const [index, point] of points.entries()) {
    crash(point)
    if (isDead) return index + 1
  }
  return null
}

const twice: CrashPoint[] = [
  'append.before_commit',
  'append.after_commit',
  'append.before_commit',
  'append.after_commit',
]

test.for([
  ['append.before_commit#1', 1],
  ['append.before_commit', 1],
  ['append.after_commit#1', 2],
  ['append.before_commit#2', 3],
  ['append.after_commit#2', 4],
  ['append.after_commit#3', null],
  ['fork.before_commit#1', null],
  ['append.before_commit#0', null],
  ['append.before_commit#x', null],
  ['', null],
  [undefined, null],
] as const)('HEDDLE_CRASH_AT=%s dies at pass %s', ([setting, pass]) => {
  expect(passesUntilDeath(setting, twice)).toBe(pass)
})

test('every write has a point on either side of its COMMIT, and no point is named twice', () => {
  const around = writeAreas.flatMap((area) => [`${area}.before_commit`, `${area}.after_commit`])
  expect(crashPoints).toEqual(expect.arrayContaining(around))
  expect(new Set(crashPoints).size).toBe(crashPoints.length)
})
