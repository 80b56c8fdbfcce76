import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tryFileLock, waitForFileLock } from '../src/file-lock.ts'
import { manualClock } from '../src/testing.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-lock-'))
  file = join(folder, 'a.lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('one holds a lock at a time, in one process as well; a released one can be had again', () => {
  const lock = tryFileLock(file)
  expect(tryFileLock(file)).toBeUndefined()
  lock?.release()
  expect(readdirSync(folder)).toEqual(['a.lock'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  tryFileLock(file)?.remove()
  expect(readdirSync(folder)).toEqual([])
})

test('whoever waits gets the lock when it is given back, and nothing when the timeout is over', async () => {
  const clock = manualClock()
  let pauses = 0
  const lock = tryFileLock(file)
  const sleep = async (duration: number) => {
    clock.advance(duration)
    pauses++
    if (pauses === 13) lock?.remove()
  }
  const waiting = { clock: { ...clock, sleep }, timeout: 100, pause: 10 }
  expect(await waitForFileLock(file, waiting)).toBeUndefined()
  expect(pauses).toBe(10)
  const taken = await waitForFileLock(file, waiting)
  expect(pauses).toBe(13)
  taken?.release()
})

test('what is no lock file, or cannot be made, is an error', () => {
  writeFileSync(file, 'not a lock'.repeat(100))
  expect(() => tryFileLock(file)).toThrow('not a database')
  expect(() => tryFileLock(join(folder, 'missing', 'a.lock'))).toThrow('unable to open')
})
