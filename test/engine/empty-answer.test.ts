import { afterEach, expect, test } from 'vitest'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openTestApp, type TestApp } from '../../src/testing.ts'
import { testTool } from './engine.ts'

let app: TestApp | undefined
afterEach(() => app?.remove())

const never = new AbortController().signal

test('a model that answers nothing leaves a failed turn that says so, and only what it really used is counted', async () => {
  const usage = { inputTokens: 7, outputTokens: 1, cachedTokens: 0, costUsd: 0 }
  app = await openTestApp({ models: [scriptedModel([{ text: ' \n', usage }])] })
  const { itemId } = await app.submit('/here', { session: 'main', content: 'hello' })
  const work = await app.work()
  expect(await app.answer('/here', itemId, never)).toMatchObject({
    ok: false,
    status: 'failed',
    text: 'Failed: the model answered nothing. Ask again, or ask another model: -m NAME',
    error: { code: 'nothing_returned', message: 'the model answered nothing' },
    usage,
  })
  await work.stop()
})

test('what a model said before it ended without an answer is kept', async () => {
  const look = testTool('look', 'pure', () => 'seen')
  const model = scriptedModel([{ text: 'I look.', calls: [{ name: 'look' }] }, { text: '' }])
  app = await openTestApp({ models: [model], tools: [look] })
  const { itemId } = await app.submit('/here', { session: 'main', content: 'hello' })
  const work = await app.work()
  expect(await app.answer('/here', itemId, never)).toMatchObject({
    ok: false,
    text: expect.stringMatching(/^I look\.\n\n\(last tool call: look, ok\)\n\nFailed: the model answered nothing/),
  })
  await work.stop()
})

test('an answer that was cut off at the limit of output says so, and one that said nothing by then has failed', async () => {
  const model = scriptedModel([
    { text: 'The first half', finish: 'length' },
    { text: '', finish: 'length', calls: [{ name: 'look' }] },
  ])
  app = await openTestApp({ models: [model] })
  const first = await app.submit('/here', { session: 'main', content: 'hello' })
  const work = await app.work()
  expect(await app.answer('/here', first.itemId, never)).toMatchObject({
    ok: true,
    text: "[heddle: cut off at the model's limit of output; no tool call in it was made] The first half",
  })
  const second = await app.submit('/here', { session: 'main', content: 'again' })
  expect(await app.answer('/here', second.itemId, never)).toMatchObject({
    ok: false,
    error: {
      code: 'reply_cut',
      message: "the reply was empty: cut off at the model's limit of output; no tool call in it was made",
    },
  })
  await work.stop()
})
