import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

test('a question in the home folder is worked on in the workspace, which is created and named', async () => {
  const userHome = join(heddle.home, '..')
  const workspace = join(userHome, 'heddle-workspace')
  const there = { cwd: userHome, env: { HOME: userHome } }
  await heddle.runWith(there, 'sessions')
  expect(existsSync(workspace)).toBe(false)
  await heddle.runWith(there, 'config', 'set', 'tools.ask', '[]')
  const { err, out, code } = await heddle.runWith(there, 'ask', 'write NOTES.md: buy milk')
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('NOTES.md') })
  expect(err).toContain(`working in ${workspace}: the current folder is your home folder, where no agent works\n`)
  expect(readFileSync(join(workspace, 'NOTES.md'), 'utf8')).toContain('buy milk')
  const talk = await heddle.runWith({ ...there, input: 'count files\n' }, 'chat')
  expect(talk.err).toContain(`working in ${workspace}`)
  expect(talk.out).toContain('this folder: 1 file.')
})

test('a question in a project folder says nothing about the workspace, and a workspace that cannot be made is an error', async () => {
  expect((await heddle.run('ask', 'count files')).err).not.toContain('working in')
  const userHome = join(heddle.home, '..')
  writeFileSync(join(userHome, 'file'), '')
  await heddle.run('config', 'set', 'workspace', join(userHome, 'file'))
  const asked = await heddle.runWith({ cwd: userHome, env: { HOME: userHome } }, 'ask', 'count files')
  expect(asked).toMatchObject({ code: 1, err: expect.stringContaining('heddle config set workspace') })
})
