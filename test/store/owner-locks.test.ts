import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileLocks } from '../../src/store/sqlite/owner-locks.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-locks-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a sign of life is there as long as its owner holds it, and gone with it', () => {
  const locks = fileLocks(folder)
  const release = locks.hold('one')
  expect(fileLocks(folder).isHeld('one')).toBe(true)
  release()
  expect(locks.isHeld('one')).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

test('signs that the dead left are found once they are old enough, and asking for one clears it away', () => {
  const locks = fileLocks(folder)
  const now = Date.UTC(2026, 0, 1)
  for (const [id, seconds] of [
    ['old', 61],
    ['new', 59],
  ] as const) {
    const file = join(folder, `owner-${id}.lock`)
    writeFileSync(file, '')
    utimesSync(file, now / 1000 - seconds, now / 1000 - seconds)
  }
  writeFileSync(join(folder, 'up.lock'), '')
  expect(locks.left(now)).toEqual(['old'])
  expect(locks.isHeld('old')).toBe(false)
  expect(locks.left(now)).toEqual([])
})
