import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
let file: string
beforeEach(async () => {
  heddle = newHeddle()
  file = join(heddle.folder, 'monday.backup')
  await heddle.run('append', '-s', 'main', '--user', 'one', '--assistant', 'two')
  await heddle.run('backup', file)
  await heddle.run('append', '-s', 'main', '--user', 'three', '--assistant', 'four')
})
afterEach(() => heddle.remove())

const turns = async () => (await heddle.json<{ turns: object[] }>('log')).turns.length

test('on a terminal restore asks first, says what it would replace, and a no changes nothing', async () => {
  const restoring = heddle.terminal('restore', file)
  await restoring.shows(join(heddle.home, 'heddle.db'))
  await restoring.shows('1 turn')
  await restoring.shows('[y/N]')
  restoring.type('n\n')
  expect((await restoring.ended).code).toBe(130)
  expect(await turns()).toBe(2)
})

test('restore says where what it replaced is, and the command that brings it back does so', async () => {
  const restoring = heddle.terminal('restore', file)
  await restoring.shows('[y/N]')
  restoring.type('y\n')
  const { code, out } = await restoring.ended
  expect(code).toBe(0)
  expect(await turns()).toBe(1)
  const [, kept = ''] = /to go back: heddle restore '([^']+)'/.exec(out) ?? []
  expect(existsSync(kept)).toBe(true)
  expect(await heddle.json('restore', kept)).toMatchObject({ ok: true, turns: 2 })
  expect(await turns()).toBe(2)
})
