import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
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
  expect((await heddle.run('git')).out).toBe('nothing is disabled in this folder\n')
})

test('an evil line above many blank ones is seen before anybody can say yes', async () => {
  const config = `[core]\n\tfsmonitor = evil ${' '.repeat(300)}more\n${'\n'.repeat(300)}; end\n`
  writeFileSync(join(heddle.folder, 'sub/.git/config.untrusted'), config)
  const env = { NO_COLOR: '1', LINES: '24', COLUMNS: '80' }
  const terminal = heddle.terminalWith({ env }, 'git', 'trust', 'sub/.git')
  await terminal.shows('fsmonitor = evil')
  await terminal.shows('  ┆ ')
  await terminal.shows('lines you have not seen')
  terminal.type('y\r')
  await terminal.shows('not yet: you have not seen all of it')
  terminal.type('v\r')
  await terminal.shows('lines you have not seen')
  expect(existsSync(join(heddle.folder, 'sub/.git/config'))).toBe(false)
  terminal.type('v all\r')
  await terminal.shows('Put it back?')
  terminal.type('y\r')
  expect((await terminal.ended).code).toBe(0)
  expect(readFileSync(join(heddle.folder, 'sub/.git/config'), 'utf8')).toBe(config)
})

test('a file that is too long to be shown keeps only its own directory from being trusted', async () => {
  mkdirSync(join(heddle.folder, 'node_modules/m/.git'), { recursive: true })
  writeFileSync(join(heddle.folder, 'node_modules/m/.git/config.untrusted'), Buffer.alloc(2_000_000, 'x'))
  const { untrusted } = await heddle.json<{ untrusted: { directory: string; hash: string }[] }>('git')
  const hashOf = (directory: string) => untrusted.find((each) => each.directory === directory)?.hash ?? ''
  expect((await heddle.run('git')).out).toContain(
    'node_modules/m/.git/config.untrusted\n  │ too long to be shown: 2,000,000 bytes\n',
  )
  const long = 'node_modules/m/.git'
  expect(await heddle.run('git', 'trust', long, '--hash', hashOf(long))).toMatchObject({
    code: 2,
    err: expect.stringContaining('too long to be shown'),
  })
  expect((await heddle.run('git', 'trust', 'sub/.git', '--hash', hashOf('sub/.git'))).code).toBe(0)
})

test('what is trusted is a fresh copy: a hard link made before does not change it', async () => {
  const at = (name: string) => join(heddle.folder, 'sub/.git', name)
  const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x0a])
  writeFileSync(at('hooks.untrusted/data'), bytes)
  symlinkSync('pre-commit', at('hooks.untrusted/pre-push'))
  linkSync(at('hooks.untrusted/pre-commit'), at('kept'))
  const { untrusted } = await heddle.json<{ untrusted: { hash: string }[] }>('git')
  expect((await heddle.run('git', 'trust', 'sub/.git', '--hash', untrusted[0]?.hash ?? '')).code).toBe(0)
  writeFileSync(at('kept'), 'evil')
  expect(readFileSync(at('hooks/pre-commit'), 'utf8')).toBe('echo \u001b[2Jhello\n')
  expect(lstatSync(at('hooks/pre-commit')).mode & 0o777).toBe(0o755)
  expect(lstatSync(at('config')).mode & 0o111).toBe(0)
  expect(readFileSync(at('hooks/data'))).toEqual(bytes)
  expect(readlinkSync(at('hooks/pre-push'))).toBe('pre-commit')
  expect(readdirSync(join(heddle.folder, 'sub/.git')).sort()).toEqual(['config', 'hooks', 'kept'])
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

test('unchanged samples of git are left out, and a changed one is shown', async () => {
  const hooks = join(heddle.folder, 'sub/.git/hooks.untrusted')
  execFileSync('git', ['init', '-q', join(heddle.folder, 'fresh')])
  const fresh = join(heddle.folder, 'fresh/.git/hooks')
  const samples = readdirSync(fresh).filter((name) => name.endsWith('.sample'))
  expect(samples.length).toBeGreaterThan(5)
  for (const name of samples) copyFileSync(join(fresh, name), join(hooks, name))
  appendFileSync(join(hooks, 'pre-push.sample'), 'echo planted\n')
  const { out } = await heddle.run('git')
  expect(out).toContain('hooks.untrusted/pre-commit (executable)')
  expect(out).toContain('hooks.untrusted/pre-push.sample (executable)')
  expect(out).toContain('echo planted')
  expect(out.match(/\.sample/g)).toHaveLength(1)
  expect(out).toContain(`not shown: ${samples.length - 1} unchanged sample hooks of git\n`)
  // They are put back with the others, and the hash covers them.
  const hash = /--hash (\w+)/.exec(out)?.[1] ?? ''
  appendFileSync(join(hooks, 'commit-msg.sample'), 'x')
  expect(await heddle.run('git', 'trust', 'sub/.git', '--hash', hash)).toMatchObject({ code: 2 })
  copyFileSync(join(fresh, 'commit-msg.sample'), join(hooks, 'commit-msg.sample'))
  expect(await heddle.run('git', 'trust', 'sub/.git', '--hash', hash)).toMatchObject({ code: 0 })
  expect(existsSync(join(heddle.folder, 'sub/.git/hooks/commit-msg.sample'))).toBe(true)
})
