import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ManualClock, manualClock, openTestApp, type TestApp } from '../../src/testing.ts'

let app: TestApp
let clock: ManualClock
beforeEach(async () => {
  clock = manualClock()
  app = await openTestApp({ clock })
})
afterEach(() => app.remove())

const put = (path: string, text: string) => writeFileSync(join(app.home, path), text)

/** Texts of passages, as somebody sees who only looks into the rows. */
function kept(): string[] {
  const db = new DatabaseSync(join(app.home, 'heddle.db'), { readOnly: true })
  const rows = db
    .prepare('SELECT text FROM passages JOIN home_files ON home_files.id = file_id ORDER BY path, line')
    .all()
  db.close()
  return rows.map(({ text }) => String(text))
}
/** Lets time pass, a little at each turn of the event loop. */
async function untilKept(wanted: (texts: string[]) => boolean): Promise<void> {
  while (!wanted(kept())) {
    await clock.advance(50)
    await new Promise(setImmediate)
  }
}

test('a process at work takes in what is there, and what is written, changed and removed later', async () => {
  put('memory/a.md', 'alpha')
  const work = await app.work()
  expect(kept()).toEqual([])
  await clock.advance(999)
  expect(kept()).toEqual([])
  await untilKept((texts) => texts.includes('alpha') && texts.some((text) => text.includes('Read before you change')))
  put('memory/a.md', 'changed')
  put('memory/b.md', 'beta')
  await clock.advance(10_000)
  await untilKept((texts) => ['changed', 'beta'].every((text) => texts.includes(text)) && !texts.includes('alpha'))
  await work.stop()
})

test('stopped in the middle it ends, and takes in nothing more', async () => {
  for (let at = 0; at < 300; at++) put(`memory/${at}.md`, `note ${at}`)
  const work = await app.work()
  await clock.advance(1000)
  await untilKept((texts) => texts.length > 5)
  await work.stop()
  const then = kept().length
  expect(then).toBeLessThan(300)
  await clock.advance(60_000)
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  expect(kept().length).toBe(then)
})

test('one that begins anew goes on with what is left', async () => {
  for (let at = 0; at < 60; at++) put(`memory/${at}.md`, `note ${at}`)
  const first = await app.work()
  await clock.advance(1000)
  await untilKept((texts) => texts.length > 5)
  await first.stop()
  const second = await app.work()
  await clock.advance(1000)
  await untilKept((texts) => texts.filter((text) => text.startsWith('note ')).length === 60)
  await second.stop()
})
