import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

const json = async (...args: string[]) => JSON.parse((await heddle.run(...args, '--json')).out)

describe('heddle personas set', () => {
  test('stores limits and model settings, keeps what is not named, and takes one away by "default"', async () => {
    const set = (...args: string[]) => heddle.run('personas', 'set', 'atlas', ...args)
    await set('--name', 'Atlas', '--sandbox', 'network=false,timeoutSeconds=60', '--think', 'low')
    await set('--max-tokens', '400', '--temperature', '0.5', '--credentials', '')
    expect(await json('show', 'persona:atlas')).toMatchObject({
      permissions: { tools: {}, sandbox: { network: false, timeoutSeconds: 60 }, credentials: [] },
      defaultModelConfig: { thinking: { level: 'low' }, maxTokens: 400, temperature: 0.5 },
    })
    const page = (await heddle.run('show', 'persona:atlas')).out
    expect(page).toMatch(/commands +no network, at most 60 s\n/)
    expect(page).toMatch(/sees +no credentials\n/)
    expect(page).toMatch(/settings +at most 400 tokens a reply, temperature 0.5\n/)
    await set('--sandbox', 'default', '--think', 'default', '--temperature', 'default', '--credentials', 'default')
    const { permissions, defaultModelConfig } = await json('show', 'persona:atlas')
    expect({ permissions, defaultModelConfig }).toEqual({
      permissions: { tools: {} },
      defaultModelConfig: { maxTokens: 400 },
    })
  })

  test.each([
    [['--sandbox', 'network=true'], 'tools.exec.network in heddle.yaml turns it on'],
    [['--sandbox', 'colour=red'], '--sandbox network=false'],
    [['--credentials', 'DEPLOY'], 'unknown credential "DEPLOY": tools.exec.credentials in heddle.yaml lists none'],
    [['--think', 'hard'], 'use one of off, low, medium, high'],
    [['--temperature', '9'], 'a number from 0 to 2'],
    [['--max-tokens', '0'], 'is not a number of tokens'],
  ])('refuses %j, which would do nothing', async (args, hint) => {
    const { code, err } = await heddle.run('personas', 'set', 'atlas', '--name', 'Atlas', ...args)
    expect(code).toBe(2)
    expect(err).toContain(hint)
    expect(await json('personas')).toEqual({ personas: [] })
  })
})

describe('heddle ask', () => {
  beforeEach(() => heddle.run('personas', 'set', 'atlas', '--name', 'Atlas'))

  test('--persona asks in its main session, or gives it to a new one', async () => {
    expect(await json('ask', 'hello', '--persona', 'atlas')).toMatchObject({ session: 'atlas:main' })
    expect(await json('ask', 'hello', '--persona', 'atlas', '-s', 'own')).toMatchObject({ session: 'own' })
    expect(await json('show', 'session:own')).toMatchObject({ persona: 'atlas' })
    expect(await heddle.run('ask', 'hello', '--persona', 'atlas', '--smart')).toMatchObject({ code: 2 })
  })

  test('--think, --allow and --deny are noted with the turn', async () => {
    const { turnId } = await json(
      'ask',
      'hello',
      '--think',
      'high',
      '--allow',
      'read_file,list_dir',
      '--deny',
      'list_dir',
    )
    expect(await json('show', turnId)).toMatchObject({
      thinkingConfig: { level: 'high' },
      settings: { permissions: [{ tools: { allow: ['read_file', 'list_dir'], deny: ['list_dir'] } }] },
    })
    expect((await heddle.run('show', turnId)).out).toMatch(/may use +only read_file, list_dir; not list_dir\n/)
    const { err, code } = await heddle.run('ask', 'hello', '--deny', 'exce')
    expect({ err, code }).toMatchObject({ code: 2, err: expect.stringContaining('did you mean exec?') })
  })

  test('-s takes session:LABEL, turn:ID and persona:ID', async () => {
    const first = await json('ask', 'one', '-s', 'session:main')
    expect(first).toMatchObject({ session: 'main' })
    const second = await json('ask', 'two', '-s', `turn:${first.turnId}`)
    expect(second).toMatchObject({ session: 'main' })
    expect(await json('ask', 'three', '-s', `turn:${first.turnId}`)).toMatchObject({
      session: `fork-${first.turnId.slice(-6)}`,
    })
    expect(await json('append', '-s', `turn:${second.turnId}`, '--user', 'u', '--assistant', 'a')).toMatchObject({
      session: 'main',
      depth: 3,
    })
    expect(await json('ask', 'four', '-s', 'persona:atlas')).toMatchObject({ session: 'atlas:main' })
  })
})

test('heddle sessions prompt sets, shows and removes a system prompt, and a fork can have another', async () => {
  expect((await heddle.run('sessions', 'prompt', 'review', 'Be strict.')).out).toContain(
    'session:review has a system prompt',
  )
  const { turnId } = await json('ask', 'hello', '-s', 'review')
  expect((await heddle.run('sessions', 'prompt', 'review')).out).toContain('\n\nBe strict.')
  const shown = await json('show', turnId)
  expect(shown.thread).toMatchObject({ ownSystemPrompt: 'Be strict.' })
  expect(shown.thread.systemPrompt).toMatch(/## This conversation\nBe strict\.$/)
  await heddle.run('fork', turnId, '--as', 'kind', '--system-prompt', 'Be kind.')
  expect(await json('show', 'session:kind')).toMatchObject({ ownSystemPrompt: 'Be kind.' })
  expect(await json('sessions', 'prompt', 'review', '--clear')).toMatchObject({ ok: true, ownSystemPrompt: null })
  expect((await heddle.run('sessions', 'prompt', 'review', 'x', '--clear')).code).toBe(2)
})
