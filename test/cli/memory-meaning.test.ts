import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MemorySearch } from '../../src/api/views/memory.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import { answerPlainly, startProvider, type TestProvider } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

const synonyms = [
  ['boat', 'vessel'],
  ['red', 'crimson'],
  ['painted', 'coloured'],
]
const canary = 'canary-key-0123456789'
let heddle: TestHeddle
let provider: TestProvider
beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: answerPlainly, embeddings: { synonyms }, key: canary })
  await heddle.run('status')
  configure('EMBEDDER_KEY')
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

function configure(variable: string) {
  const embedder = `{ baseURL: "${provider.url}", model: small, apiKey: "\${${variable}}" }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `agent: { default: "@general" }\nmemory: { embedder: ${embedder} }\n`)
}
const env = { EMBEDDER_KEY: canary, OTHER_KEY: 'wrong-key-of-canary-9876' }
const run = (...args: string[]) => heddle.runWith({ env }, ...args)
const search = async (question: string) =>
  JSON.parse((await run('memory', 'search', question, '--json')).out) as MemorySearch

test('what is meant is found, shown as such and told; without an answer the words remain', async () => {
  await run('memory', 'add', 'boat painted red')
  const daemon = heddle.startWith({ env }, 'up')
  await untilSo(async () => (await search('vessel coloured crimson')).memories.length === 1)
  expect((await search('vessel coloured crimson')).memories).toMatchObject([{ id: 1, words: [], meaning: 1 }])
  expect((await run('memory', 'search', 'vessel coloured crimson')).out).toMatch(/boat painted red +\(by meaning\)/)

  const asked = await run('ask', 'vessel coloured crimson', '--json')
  const { turnId } = JSON.parse(asked.out) as RequestAnswer
  expect((JSON.parse((await run('show', `turn:${turnId}`, '--json')).out) as TurnView).remindedOf).toMatchObject([
    { id: 1, words: [] },
  ])
  expect((await run('show', `turn:${turnId}`)).out).toMatch(/memory:1 +boat painted red +by meaning/)
  expect((await run('doctor')).out).toMatch(/ok +embedder +127\.0\.0\.1:\d+\/v1 small works, 128 dimensions/)
  daemon.stop('SIGTERM')
  expect((await daemon.ended).code).toBe(0)

  await provider.close()
  expect(await search('red things')).toMatchObject({ memories: [{ id: 1 }], wordsOnly: expect.any(String) })
  const { out } = await run('memory', 'search', 'red things')
  expect(out).toMatch(/boat painted red +red\nby words only: the embedder \(127\.0\.0\.1:\d+\) cannot be reached/)
  expect((await run('events')).out).toMatch(/memory\.words_only +embedder:.*cannot be reached/)
  const doctor = (await run('doctor')).out
  expect(doctor).toMatch(/warn +embedder +memories are found by words only: .*cannot be reached/)
  expect(doctor).toContain('check that the server runs and that memory.embedder.baseURL is right')
})

test('no command shows the key, and without it the rest works', async () => {
  configure('OTHER_KEY')
  await run('memory', 'add', 'boat painted red')
  const said = [
    await run('memory', 'search', 'boat'),
    await run('doctor'),
    await run('config', 'show'),
    await run('events'),
  ]
  configure('NOT_SET')
  const missing = [await run('memory', 'search', 'boat'), await run('doctor')]
  const all = JSON.stringify([said, missing])
  expect(all).not.toContain('canary')
  expect(said[1]?.out).toMatch(/warn +embedder .*does not accept the key: 401/)
  expect(said[2]?.out).toContain(`\${OTHER_KEY}`)
  expect(missing[0]?.out).toContain('boat painted red')
  expect(missing[1]?.out).toMatch(/warn +embedder .*the embedder has no key: NOT_SET is not set/)
})
