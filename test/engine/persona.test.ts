import { afterEach, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/api/views/run.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openTestApp, type TestApp } from '../../src/testing.ts'
import { testTool } from './engine.ts'

let app: TestApp | undefined
afterEach(() => app?.remove())

test('a persona speaks with its own name, its own model and only the tools that it may use', async () => {
  const usual = scriptedModel([{ text: 'usual' }], { name: 'usual' })
  const own = scriptedModel([{ calls: [{ name: 'push' }] }, { text: 'own' }], { name: 'own' })
  const push = testTool('push', 'unsafe', () => 'pushed')
  app = await openTestApp({ models: [usual, own], tools: [testTool('look', 'pure', () => 'seen'), push] })
  await app.setPersona({
    id: 'lotte',
    identity: { name: 'Lotte', soul: 'Calm.' },
    permissions: { tools: { deny: ['push'] } },
    defaultModelConfig: { model: 'own' },
  })
  const draft = { query: [{ content: 'hello' }], response: { content: 'good day' } }
  await app.append('/here', { session: 'hers', draft, persona: 'lotte' })
  const work = await app.work()
  const never = new AbortController().signal
  const { itemId } = await app.submit('/here', { session: 'hers', content: 'push it' })
  const hers = await app.answer('/here', itemId, never)
  const other = await app.submit('/here', { session: 'main', content: 'hello' })
  expect(await app.answer('/here', other.itemId, never)).toMatchObject({ text: 'usual' })
  await work.stop()
  expect(hers).toMatchObject({ text: 'own', model: { requested: null, actual: 'own' } })
  expect(push.calls).toEqual([])
  const [request] = own.requests
  expect(request?.system).toMatch(/^You are Lotte\..*\nCalm\./)
  expect(request?.tools.map(({ name }) => name)).not.toContain('push')
  const shown = await app.show('/here', `turn:${hers.turnId}`)
  expect(shown).toMatchObject({ toolCalls: [{ name: 'push', status: 'forbidden' }], promptHash: expect.any(String) })
})

describe('the main session of a persona', () => {
  const never = new AbortController().signal
  const guard = {
    id: 'guard',
    identity: { name: 'Guard', soul: '' },
    permissions: { tools: { deny: ['push'] } },
  }
  const draft = { query: [{ content: 'hello' }], response: { content: 'good day' } }

  async function open(): Promise<TestApp> {
    const tools = [testTool('look', 'pure', () => 'seen'), testTool('push', 'unsafe', () => 'pushed')]
    app = await openTestApp({ models: [scriptedModel(() => ({ text: 'fine' }))], tools })
    return app
  }
  async function toolsIn(app: TestApp, session: string): Promise<string[]> {
    const work = await app.work()
    const { itemId } = await app.submit('/here', { session, content: '@general push it' })
    const { runId } = await app.answer('/here', itemId, never)
    await work.stop()
    return ((await app.show('/here', `run:${runId}`)) as RunView).effectiveTools
  }

  test('has its denials from the first question on', async () => {
    const app = await open()
    await app.setPersona(guard)
    expect(await toolsIn(app, 'guard:main')).not.toContain('push')
    expect(await toolsIn(app, 'other:main')).toContain('push')
    expect(await app.show('/here', 'session:guard:main')).toMatchObject({ persona: 'guard' })
  })

  test('has its denials where the session is older than the persona, or got its label later', async () => {
    const app = await open()
    await app.append('/here', { session: 'guard:main', draft })
    await app.append('/here', { session: 'plain', draft })
    await app.setPersona(guard)
    expect(await app.show('/here', 'session:guard:main')).toMatchObject({ persona: 'guard' })
    await app.renameSession('/here', 'guard:main', 'before')
    await app.renameSession('/here', 'plain', 'guard:main')
    expect(await toolsIn(app, 'guard:main')).not.toContain('push')
  })

  test('is where a question to persona:ID goes; a persona that is not there is refused', async () => {
    const app = await open()
    await app.setPersona(guard)
    expect(await app.submit('/here', { session: 'persona:guard', content: 'hello' })).toMatchObject({
      session: 'guard:main',
    })
    expect(await app.append('/here', { session: 'persona:guard', draft }).catch(({ code }) => code)).toBe(
      'session_busy',
    )
    await expect(app.submit('/here', { session: 'persona:nobody', content: 'hello' })).rejects.toMatchObject({
      code: 'not_found',
      message: 'there is no persona "nobody"',
    })
    expect((await app.sessions()).rows.map(({ label }) => label)).toEqual(['guard:main'])
  })

  test('adding a turn with a persona to a session that has another one is refused and changes nothing', async () => {
    const app = await open()
    await app.setPersona(guard)
    await app.append('/here', { session: 'plain', draft })
    await expect(app.append('/here', { session: 'plain', draft, persona: 'guard' })).rejects.toMatchObject({
      code: 'persona_differs',
      message: 'session "plain" has no persona; you named guard',
      remedy: expect.stringMatching(/^heddle fork turn:\w+ --persona guard$/),
    })
    await expect(app.append('/here', { session: 'new', draft, persona: 'nobody' })).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await app.log('/here', { of: 'plain' })).toHaveLength(1)
    await app.append('/here', { session: 'guard:main', draft, persona: 'guard' })
    await app.append('/here', { session: 'guard:main', draft, persona: 'guard' })
    expect(await app.log('/here', { of: 'guard:main' })).toHaveLength(2)
  })
})
