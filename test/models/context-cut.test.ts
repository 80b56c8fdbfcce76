import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isContextCut } from '../../src/models/stream/context-cut.ts'
import { asking, shape } from './asking.ts'

const prose = 'The heddle guides each thread along its own path, so that the cloth comes out whole. '

/** What the most thrifty tokenizer makes of a text: a token for each word, number, run of signs and run of spaces. */
const thriftyTokens = (text: string) => text.match(/[\p{L}]+|\p{N}{1,3}|[^\s\p{L}\p{N}]+|\s{2,}|\n/gu)?.length ?? 0

describe('a provider that read less than it was sent gives no answer', () => {
  test('the call fails for good, with what was read, what it cost and the way out', async () => {
    const { fail } = await asking(
      { text: 'As you said, hello.', usage: { inputTokens: 2_048, outputTokens: 10 } },
      { settings: { price: { input: 1, output: 1 } } },
    )
    const failure = await fail({ messages: [{ role: 'user', content: prose.repeat(400) }] })
    expect(shape(failure)).toEqual({ code: 'context_cut', retry: 'never' })
    expect(failure.message).toContain('read only 2048 of about 85')
    expect(failure.remedy).toContain('models.main.contextWindow')
    expect(failure.usage).toEqual({ inputTokens: 2_048, outputTokens: 10, cachedTokens: 0, costUsd: 0.002058 })
  })

  test('what agents said, called and were told counts as sent', async () => {
    const { fail } = await asking({ text: 'a', usage: { inputTokens: 2_048 } })
    const input = { content: prose.repeat(100) }
    const failure = await fail({
      messages: [
        { role: 'assistant', content: prose.repeat(100), calls: [{ id: 'c', name: 'write_file', input }] },
        { role: 'tool', callId: 'c', name: 'write_file', content: prose.repeat(100) },
      ],
    })
    expect(failure.code).toBe('context_cut')
  })

  test('descriptions of tools do not: servers rewrite them', async () => {
    const { ask } = await asking({ text: 'a', usage: { inputTokens: 100 } })
    const tools = [{ name: 'a', description: prose.repeat(400), inputSchema: { type: 'object' } }]
    expect((await ask({ tools })).text).toBe('a')
  })

  test('a server that counts nothing cut nothing', async () => {
    const messages = [{ role: 'user' as const, content: prose.repeat(400) }]
    const silent = await asking({ text: 'a', faults: { noUsage: true } })
    expect((await silent.ask({ messages })).text).toBe('a')
    const zero = await asking({ text: 'a', usage: { inputTokens: 0 } })
    expect((await zero.ask({ messages })).text).toBe('a')
  })
})

describe('the alarm is raised below four fifths of a careful estimate', () => {
  const texts = ['', prose.repeat(200).trim()]
  const words = 200 * 18
  test.each([
    [words, false],
    [Math.ceil(words * 0.8), false],
    [Math.floor(words * 0.8) - 1, true],
    [1, true],
  ])('%i tokens read of 3,600 pieces: %s', (read, isCut) => {
    expect(isContextCut(texts, read)).toBe(isCut)
  })

  test('a short conversation is not judged', () => {
    expect(isContextCut([prose.repeat(94)], 1)).toBe(false)
  })

  test.each([
    ['indented JSON', JSON.stringify({ a: { b: { c: Array.from({ length: 2_000 }, () => ({ d: 1 })) } } }, null, 8)],
    ['ruled lines', `${'='.repeat(200)}\n`.repeat(300)],
    ['a table of spaces', `${' '.repeat(120)}x\n`.repeat(500)],
    ['short words that are a token each', 'hello '.repeat(5_000)],
  ])('%s, which tokenizers press together, raises none', (_, text) => {
    expect(text.length / 4).toBeGreaterThan(2_000)
    expect(isContextCut([text], thriftyTokens(text))).toBe(false)
  })

  test('code and prose of this project raise none at five characters to a token', () => {
    const root = join(import.meta.dirname, '../..')
    for (const file of ['ARCHITECTURE.md', 'test/architecture.test.ts', 'src/store/sqlite/schema.sql']) {
      const text = readFileSync(join(root, file), 'utf8')
      expect(isContextCut([text], Math.ceil(text.length / 5)), file).toBe(false)
    }
  })

  test('a lock file raises none as it is counted, and one where a quarter of it was not read', () => {
    const text = readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8')
    // Hashes and signs: no tokenizer makes one token of four characters there, let alone of five.
    const fewest = thriftyTokens(text)
    expect(text.length / fewest).toBeLessThan(4)
    expect(isContextCut([text], fewest)).toBe(false)
    expect(isContextCut([text], Math.floor(text.length / 5) - 1)).toBe(true)
  })

  test('a long stretch without a gap is noticed when next to nothing was read', () => {
    expect(isContextCut(['x'.repeat(100_000)], 2_048)).toBe(true)
  })
})
