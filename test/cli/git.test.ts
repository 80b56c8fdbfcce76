import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { untilSo } from '../setup/until.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
  mkdirSync(join(heddle.folder, 'sub/.git/hooks.untrusted'), { recursive: true })
  writeFileSync(join(heddle.folder, 'sub/.git/config.untrusted'), '[core]\n\tbare = false\n')
  writeFileSync(join(heddle.folder, 'sub/.git/hooks.untrusted/pre-commit'), 'echo \u001b[2Jhello\n', { mode: 0o755 })
})
afterEach(() => heddle.remove())

test('what was moved aside is shown whole, and put back only as it was shown', async () => {
  const { out } = await heddle.run('git')
  expect(out).toContain('sub/.git/config.untrusted\n  │ [core]\n')
  expect(out).toContain('sub/.git/hooks.untrusted/pre-commit (executable)\n')
  expect(out).not.toContain('\u001b')
  expect(await heddle.run('git', 'trust', 'sub/.git')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--hash'),
  })
  const hash = /--hash (\w+)/.exec(out)?.[1] ?? ''
  writeFileSync(join(heddle.folder, 'sub/.git/config.untrusted'), '[core]\n\tfsmonitor = evil\n')
  expect(await heddle.run('git', 'trust', 'sub/.git', '--hash', hash)).toMatchObject({ code: 2 })
  expect(existsSync(join(heddle.folder, 'sub/.git/config'))).toBe(false)
})

test('on a terminal it is shown and asked about; no changes nothing', async () => {
  const no = heddle.terminal('git', 'trust', 'sub/.git')
  await no.shows('Put it back?')
  no.type('n\r')
  expect((await no.ended).code).toBe(130)
  const yes = heddle.terminal('git', 'trust', 'sub/.git')
  await yes.shows('bare = false')
  await yes.shows('Put it back?')
  yes.type('y\r')
  expect((await yes.ended).code).toBe(0)
  expect(readFileSync(join(heddle.folder, 'sub/.git/config'), 'utf8')).toContain('bare')
  expect(existsSync(join(heddle.folder, 'sub/.git/hooks/pre-commit'))).toBe(true)
  expect((await heddle.run('git')).out).toBe('nothing was moved aside in this folder\n')
})

test('what a command left behind whose process was killed is moved aside by the next one', async () => {
  const asked = heddle.start('ask', '@general run "git init -q late && touch ready && sleep 100"')
  await untilSo(() => existsSync(join(heddle.folder, 'ready')))
  asked.stop('SIGKILL')
  await asked.ended
  expect(existsSync(join(heddle.folder, 'late/.git/config'))).toBe(true)
  const { err } = await heddle.run('ask', '@general run "true"', '-s', 'other')
  expect(err).toContain('late/.git/config.untrusted')
  expect(existsSync(join(heddle.folder, 'late/.git/config'))).toBe(false)
})

test.each(['guard.after_record', 'guard.after_command', 'guard.after_look', 'tool.after_run'])(
  'and so is what one left that was killed at %s',
  async (point) => {
    const env = { HEDDLE_CRASH_AT: point }
    const asked = await heddle.runWith({ env }, 'ask', '@general run "git init -q late"')
    expect(asked.signal).toBe('SIGKILL')
    await heddle.run('ask', '@general run "true"', '-s', 'other')
    expect(existsSync(join(heddle.folder, 'late/.git/config'))).toBe(false)
    expect(readdirSync(join(heddle.home, 'run/guards'))).toEqual([])
  },
)
