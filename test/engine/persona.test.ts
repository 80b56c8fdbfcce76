import { afterEach, expect, test } from 'vitest'
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
