import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(async () => {
  heddle = newHeddle({ agent: null })
  await heddle.run('init')
})
afterEach(() => heddle.remove())

const configFile = () => join(heddle.home, 'heddle.yaml')

test('config set refuses a default agent that is not there, with the nearest name, and takes one of a file', async () => {
  const before = readFileSync(configFile(), 'utf8')
  const refused = await heddle.run('config', 'set', 'agent.default', '@reseacher')
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('did you mean `@researcher`?')])
  expect(readFileSync(configFile(), 'utf8')).toBe(before)
  mkdirSync(join(heddle.home, 'skills'), { recursive: true })
  const own = '---\nname: drawer\ndescription: Draws.\ntriggers: [map]\ntools: []\n---\nYou draw.\n'
  writeFileSync(join(heddle.home, 'skills/drawer.md'), own)
  expect(await heddle.json('config', 'set', 'agent.default', '@drawer')).toMatchObject({ ok: true, value: '@drawer' })
})

test('config check, doctor and up tell of a default agent that is not there, and a question is refused', async () => {
  writeFileSync(configFile(), 'agent:\n  default: "@genral"\n')
  const hint = 'did you mean `@general`?'
  expect(await heddle.json('config', 'check')).toMatchObject({
    ok: false,
    problems: [{ line: 2, path: 'agent.default', message: expect.stringContaining(hint) }],
  })
  const { checks } = await heddle.json<{ checks: object[] }>('doctor')
  expect(checks).toContainEqual(expect.objectContaining({ status: 'fail', detail: expect.stringContaining(hint) }))
  expect(await heddle.json('ask', 'hello')).toMatchObject({ ok: false, error: { code: 'agent_unknown' } })
  const up = heddle.start('up')
  await up.says('agent.default is @genral')
  await up.says('running:')
  up.stop('SIGTERM')
  await up.ended
})
