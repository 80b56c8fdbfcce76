import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunLine } from '../../src/domain/app.ts'
import { answerPlainly, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
let provider: TestProvider
beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: answerPlainly })
  await heddle.run('init')
  const model = `provider: openai-compatible, baseURL: "${provider.url}", model: tiny`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: { ${model} }\n`)
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

test('after a crash a question in another session says that the run stays queued, not that it was resumed', async () => {
  const crashed = await heddle.runWith({ env: { HEDDLE_CRASH_AT: 'model.after_reply' } }, 'ask', 'first')
  expect(crashed.signal).toBe('SIGKILL')
  const elsewhere = await heddle.run('ask', 'second', '-s', 'other')
  expect(elsewhere.out).toContain('answer to: second')
  expect(elsewhere.err).toContain('after a crash: 1 run of another session is queued again, 0 lost')
  expect(elsewhere.err).toContain('heddle up')
  expect(elsewhere.err).not.toContain('resumed')
  const { runs } = await heddle.json<{ runs: RunLine[] }>('ps')
  expect(runs).toMatchObject([{ session: 'main', state: 'queued' }])
}, 60_000)
