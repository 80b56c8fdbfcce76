import { afterEach, expect, test } from 'vitest'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { manualClock, openTestApp, type TestApp } from '../../src/testing.ts'

let app: TestApp | undefined
afterEach(() => app?.remove())

test('an input of a busy session names the run that it waits behind until a run has taken it', async () => {
  const held = gate()
  const model = scriptedModel((_, n) => (n > 1 ? { text: 'second' } : { gate: held, text: 'first' }))
  app = await openTestApp({ models: [model] })
  const work = await app.work()
  const first = await app.submit('/here', { session: 'main', content: 'one' })
  await held.reached
  const second = await app.submit('/here', { session: 'main', content: 'two', dedupeKey: 'two' })
  expect(second).toEqual({ itemId: second.itemId, session: 'main', runId: null, queuedBehind: first.runId })
  expect(await app.submit('/here', { session: 'main', content: 'two', dedupeKey: 'two' })).toEqual(second)
  expect(await app.answer('/here', second.itemId, AbortSignal.abort())).toMatchObject({
    status: 'waiting',
    runId: null,
    itemId: second.itemId,
    queuedBehind: first.runId,
  })
  held.open()
  const answered = await app.answer('/here', second.itemId, new AbortController().signal)
  expect(answered).toMatchObject({ text: 'second', runId: expect.any(String) })
  expect(answered).not.toHaveProperty('queuedBehind')
  await work.stop()
})

test('an answer is there when its run ends, also if it was awaited before the run began', async () => {
  const clock = manualClock()
  app = await openTestApp({ models: [scriptedModel(() => ({ text: 'here' }))], clock })
  const { itemId } = await app.submit('/here', { session: 'main', content: 'one' })
  const waiting = app.answer('/here', itemId, new AbortController().signal)
  const work = await app.work()
  // The clock stands still: nobody looks again after a while.
  expect(await waiting).toMatchObject({ status: 'completed', text: 'here' })
  await work.stop()
})
