import { expect, test } from 'vitest'
import type { RunLine } from '../../src/api/views/run.ts'
import { answerPlainly } from '../../src/testing.ts'
import { heddleWithModel } from './heddle-with-model.ts'

const home = heddleWithModel(answerPlainly)

test('after a crash a question in another session says that the run stays queued, not that it was resumed', async () => {
  const heddle = home()
  const crashed = await heddle.runWith({ env: { HEDDLE_CRASH_AT: 'model.after_reply' } }, 'ask', 'first')
  expect(crashed.signal).toBe('SIGKILL')
  const elsewhere = await heddle.run('ask', 'second', '-s', 'other')
  expect(elsewhere.out).toContain('answer to: second')
  expect(elsewhere.err).toContain('after a crash: 1 run of another session requeued, nothing lost')
  expect(elsewhere.err).toContain('heddle up')
  expect(elsewhere.err).not.toContain('resumed')
  const { runs } = await heddle.json<{ runs: RunLine[] }>('ps')
  expect(runs).toMatchObject([{ session: 'main', state: 'queued' }])
})
