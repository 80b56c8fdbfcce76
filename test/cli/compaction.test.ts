import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
let provider: TestProvider

beforeEach(() => {
  heddle = newHeddle()
})
afterEach(async () => {
  await provider?.close()
  heddle.remove()
})

const summary = 'The person counts pages. '.repeat(20)

/** Asks until the next question makes the runtime summarise. */
async function fillWindow(): Promise<void> {
  provider = await startProvider({
    answer: ({ messages }) =>
      JSON.stringify(messages).includes('This conversation is too long')
        ? { text: summary }
        : { text: `answer ${messages.length}` },
  })
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: m-1, contextWindow: 8000 }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `agent: { default: "@general" }\nmodels:\n  main: ${model}\n`)
  const page = 'a page of words '.repeat(250)
  for (const turn of [1, 2, 3]) await heddle.run('ask', `${turn} ${page}`)
}

test('a compaction is one line on the screen: its text is never shown as an answer', async () => {
  await fillWindow()
  const chat = heddle.terminalWith({ env: { NO_COLOR: '1' } })
  await chat.shows('main> ')
  chat.type('how many pages?\r')
  await chat.shows('older turns summarised: ')
  await chat.shows('heddle show turn:')
  chat.type('/quit\r')
  const { out } = await chat.ended
  expect(out).toMatch(/older turns summarised: \d+k? → \d+ tokens/)
  expect(out.match(/summarised/g)).toHaveLength(1)
  expect(out).not.toContain('The person counts pages')
})

test('ask tells of a compaction on stderr, so that a pipe holds the answer alone', async () => {
  await fillWindow()
  const { out, err } = await heddle.run('ask', 'how many pages?')
  expect(err).toMatch(/older turns summarised: \d+k? → \d+ tokens/)
  expect(out).not.toContain('summarised')
})
