import { afterEach, beforeEach, describe, expect } from 'vitest'
import { answerOnce } from '../../src/app/answer-once.ts'
import { owner } from '../../src/domain/access/principal.ts'
import { gate } from '../../src/testing.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

describe.each(databases)('a key on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  test('that two processes use at once for an input gives both the answer that was stored first', async () => {
    const [one, other] = [answerOnce(runtime), answerOnce(runtime)]
    const request = { key: 'k', hash: 'h', isRepeatable: true }
    const hold = gate()
    const slow = one(owner, request, async () => {
      await hold.pass(new AbortController().signal)
      return { itemId: 'a', runId: null }
    })
    await hold.reached
    expect(await other(owner, request, async () => ({ itemId: 'a', runId: 'r' }))).toEqual({ itemId: 'a', runId: 'r' })
    hold.open()
    expect(await slow).toEqual({ itemId: 'a', runId: 'r' })
  })

  test('that two processes use at once for different inputs refuses the later one', async () => {
    const [one, other] = [answerOnce(runtime), answerOnce(runtime)]
    const hold = gate()
    const slow = one(owner, { key: 'k', hash: 'h', isRepeatable: true }, async () => {
      await hold.pass(new AbortController().signal)
      return 'slow'
    })
    await hold.reached
    await other(owner, { key: 'k', hash: 'another', isRepeatable: true }, async () => 'first')
    hold.open()
    await expect(slow).rejects.toMatchObject({ code: 'key_reused' })
  })
})
