import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toolNames } from '../../src/domain/tools/tool-names.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openTestApp } from '../../src/testing.ts'
import { testTool } from '../engine/engine.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

const storeConfig = async (text: string) => {
  await heddle.run('init')
  writeFileSync(join(heddle.home, 'heddle.yaml'), text)
}

describe('a name in the permissions that is no tool', () => {
  test.each([
    ['tools.ask', '[write_flie]', 'did you mean write_file?'],
    ['tools.deny', '[exce]', 'did you mean exec?'],
    ['tools.allow', '[read_file, serch_files]', 'did you mean search_files?'],
    ['tools.deny', '[memory_stroe]', 'did you mean memory_store?'],
    ['tools.deny', '["Bash(rm *)"]', 'did you mean exec?'],
    ['tools.deny', '[WebSearch]', 'did you mean web_fetch?'],
    ['tools.ask', '[quaxle]', 'heddle tools have names such as'],
  ])('is refused by config set %s %s', async (key, value, hint) => {
    await heddle.run('init')
    const before = readFileSync(join(heddle.home, 'heddle.yaml'), 'utf8')
    const { code, err } = await heddle.run('config', 'set', key, value)
    expect(code).not.toBe(0)
    expect(err).toContain(`\`${key}.`)
    expect(err).toContain(hint)
    expect(readFileSync(join(heddle.home, 'heddle.yaml'), 'utf8')).toBe(before)
  })

  test.each(['[exec, Bash, "*", "read_*", cron, TodoWrite, spawn_agent]', `[${toolNames.join(', ')}]`])(
    'is not one that exists, could exist or is known by another spelling: %s',
    async (value) => {
      expect(await heddle.run('config', 'set', 'tools.deny', value)).toMatchObject({ code: 0 })
      expect(await heddle.run('config', 'check')).toMatchObject({ code: 0 })
    },
  )

  test('that is stored already fails config check and doctor, and every command says so', async () => {
    await storeConfig('tools: { ask: [write_flie], deny: [exce] }\n')
    const { code, out } = await heddle.run('config', 'check')
    expect(code).toBe(1)
    expect(out).toContain('`tools.ask.0` at line 1 names the tool "write_flie", which does not exist')
    expect(out).toContain('`tools.deny.0` at line 1 names the tool "exce"')
    expect((await heddle.run('doctor')).out).toMatch(/^fail +tools +`tools.deny.0` at line 1 .*did you mean exec\?$/m)
    const { code: shown, err } = await heddle.run('sessions')
    expect(shown).toBe(0)
    expect(err).toContain(
      'error: tools.ask names the tool "write_flie", which does not exist: did you mean write_file?',
    )
    expect(err).toContain('error: tools.deny names the tool "exce"')
    expect(err).toContain('heddle config edit')
    // One wrong name does not keep the user from mending the other, nor from setting something else.
    expect(await heddle.run('config', 'set', 'agents.maxConcurrent', '2')).toMatchObject({ code: 0 })
    expect(await heddle.run('config', 'set', 'tools.ask', '[write_file]')).toMatchObject({ code: 0 })
    expect((await heddle.run('sessions')).err).not.toContain('tools.ask')
  })

  test('never lets the tool that was meant run unasked', async () => {
    await storeConfig('tools: { ask: [write_flie], deny: [exce] }\n')
    const asked = await heddle.run('ask', '@general write NOTES.md: buy milk', '--on-approval', 'fail')
    expect(asked.code).toBe(3)
    expect((await heddle.json<{ approvals: { tool: string }[] }>('approvals')).approvals).toMatchObject([
      { tool: 'write_file' },
    ])
  })

  test('is said by a command that asks the daemon, once', async () => {
    await storeConfig('tools: { deny: [exce] }\n')
    const daemon = heddle.start('up')
    await daemon.says('tools.deny names the tool')
    await daemon.says('running:')
    const { err } = await heddle.run('ps')
    expect(err.match(/tools\.deny names the tool/g)).toHaveLength(1)
    daemon.stop('SIGTERM')
    await daemon.ended
  })
})

describe('a persona', () => {
  test.each([
    [['--deny', 'exce,write_fil'], 'did you mean exec?'],
    [['--ask', 'write_flie'], 'did you mean write_file?'],
    [['--allow', 'reed_file'], 'did you mean read_file?'],
    [['--model', 'nosuch'], 'there is no model "nosuch"'],
  ])('with %j is refused', async (options, hint) => {
    const { code, err } = await heddle.run('personas', 'set', 'guard', '--name', 'G', ...options)
    expect(code).toBe(2)
    expect(err).toContain(hint)
    expect(await heddle.json('personas')).toEqual({ personas: [] })
  })

  test('keeps what a change does not name', async () => {
    await heddle.run('personas', 'set', 'guard', '--name', 'G', '--deny', 'exec', '--ask', 'web_fetch', '--emoji', '🛡')
    await heddle.run('personas', 'set', 'guard', '--name', 'Guard')
    await heddle.run('personas', 'set', 'guard', '--ask', 'read_file', '--model', 'rehearsal')
    expect(await heddle.json('personas')).toEqual({
      personas: [
        {
          id: 'guard',
          identity: { name: 'Guard', soul: '', emoji: '🛡' },
          permissions: { tools: { deny: ['exec'], ask: ['read_file'] } },
          defaultModelConfig: { model: 'rehearsal' },
        },
      ],
    })
    expect(await heddle.run('personas', 'set', 'other')).toMatchObject({ code: 2 })
  })

  test('of a program with tools of its own may name them, and only them', async () => {
    const app = await openTestApp({ models: [scriptedModel([])], tools: [testTool('deploy', 'unsafe', () => 'done')] })
    const persona = { id: 'ops', identity: { name: 'Ops', soul: '' }, permissions: { tools: { deny: ['deploy'] } } }
    await app.setPersona(persona)
    await expect(app.setPersona({ ...persona, permissions: { tools: { deny: ['deplyo'] } } })).rejects.toMatchObject({
      code: 'tool_unknown',
      remedy: 'did you mean deploy?',
    })
    await app.remove()
  })
})
