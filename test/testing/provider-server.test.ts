import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ProviderLogLine } from '../../src/testing.ts'
import { answerPlainly, failThenAnswer, manualClock, startProvider } from '../../src/testing.ts'
import { asking, failure } from '../models/asking.ts'

describe('the log tells what the provider saw', () => {
  test('each request with its run and body, and the usage that was reported', async () => {
    const clock = manualClock(1_000)
    const provider = await startProvider({ answer: () => ({ text: 'four letters' }), clock })
    onTestFinished(() => provider.close())
    const body = { model: 'm', messages: [{ role: 'user', content: 'eight ch' }], stream: true }
    const response = await post(`${provider.url}/chat/completions`, body, { 'x-heddle-run': 'r/1/1' })
    const text = await response.text()
    const usage = { inputTokens: 2, outputTokens: 3, cachedTokens: 0 }
    expect(provider.log).toEqual([
      { n: 1, at: 1_000, run: 'r/1/1', kind: 'received', model: 'm', lastUserText: 'eight ch', body },
      { n: 1, at: 1_000, run: 'r/1/1', kind: 'answered', usage },
    ])
    expect(text).toContain('"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5')
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('no usage where the reply said none', async () => {
    const { ask, provider } = await asking({ text: 'a', faults: { noUsage: true } })
    await ask()
    expect(provider.log.at(-1)).toMatchObject({ kind: 'answered', usage: null })
  })

  test('to the token what its client books', async () => {
    const { ask, provider } = await asking((request) => ({ text: `${request.messages.length} messages` }))
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        ask({ id: `r/1/${n}`, messages: [{ role: 'user', content: 'x'.repeat(n) }] }),
      ),
    )
    const reported = Object.fromEntries(
      provider.log.flatMap((line) => (line.kind === 'answered' ? [[line.run, { ...line.usage, costUsd: 0 }]] : [])),
    )
    expect(Object.fromEntries(replies.map(({ usage }, n) => [`r/1/${n}`, usage]))).toEqual(reported)
  })

  test('a refusal, a break of its own and a client that hung up', async () => {
    const faults = [{ status: { code: 429 } }, { cutAt: 10 }, { cutAt: 100_000 }, { reset: true }, { silentAt: 5 }]
    const { ask, provider } = await asking((request) => ({ text: 'a', faults: faults[request.attempt] ?? {} }))
    for (let n = 0; n < 4; n++) await failure(ask())
    const stop = new AbortController()
    const call = ask({ signal: stop.signal }).catch((error) => error)
    await provider.until(({ kind, n }) => kind === 'received' && n === 5)
    stop.abort()
    await call
    await provider.until(({ kind }) => kind === 'lost')
    expect(provider.log.filter(({ kind }) => kind !== 'received')).toMatchObject([
      { n: 1, kind: 'refused', status: 429 },
      { n: 2, kind: 'broken', usage: null },
      { n: 3, kind: 'broken', usage: { outputTokens: 1 } },
      { n: 4, kind: 'broken', usage: null },
      { n: 5, kind: 'lost' },
    ])
  })

  test('everything once it is closed: whoever still waited was hung up on', async () => {
    const provider = await startProvider({ answer: () => new Promise(() => undefined) })
    const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], stream: true }
    const calls = Array.from({ length: 3 }, () => post(`${provider.url}/chat/completions`, body).catch(() => undefined))
    await provider.until(({ n }) => n === 3)
    await provider.close()
    expect(provider.log.filter(({ kind }) => kind === 'lost')).toHaveLength(3)
    await Promise.all(calls)
  })

  test('it fails as often as asked for each user text', async () => {
    const { ask } = await asking(failThenAnswer(2))
    const say = (content: string) => ask({ messages: [{ role: 'user', content }] }).catch(({ code }) => code)
    expect(await say('a')).toBe('provider_busy')
    expect(await say('b')).toBe('provider_busy')
    expect(await say('a')).toBe('provider_busy')
    expect(await say('a')).toMatchObject({ text: 'answer to: a' })
    expect(await say('b')).toBe('provider_busy')
  })

  test.each([
    ['another path', '/models', { model: 'm', messages: [] }, 404],
    ['a body that is none', '/chat/completions', 'what?', 400],
  ])('%s is refused and not logged', async (_, path, body, status) => {
    const provider = await startProvider({ answer: answerPlainly })
    onTestFinished(() => provider.close())
    expect((await post(provider.url + path, body)).status).toBe(status)
    expect(provider.log).toEqual([])
  })
})

describe('a provider in a process of its own', () => {
  test('prints its address first, answers by a script and writes its log to a file', async () => {
    const file = join(temporary(), 'log.jsonl')
    const url = await startProgram('0', 'fail-then-answer:1', file)
    const { ask } = await asking({}, { settings: { baseURL: url } })
    expect(await ask({ id: 'r/1/1' }).catch(({ code }) => code)).toBe('provider_busy')
    expect((await ask({ id: 'r/1/2' })).text).toBe('answer to: hello')
    const lines: ProviderLogLine[] = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ n, run, kind }) => [n, run, kind])).toEqual([
      [1, 'r/1/1', 'received'],
      [1, 'r/1/1', 'refused'],
      [2, 'r/1/2', 'received'],
      [2, 'r/1/2', 'answered'],
    ])
  })

  test('answers by a file of rules', async () => {
    const rules = join(temporary(), 'rules.json')
    writeFileSync(
      rules,
      JSON.stringify([{ when: 'hell', answer: { text: 'by the rules', usage: { inputTokens: 9 } } }]),
    )
    const { ask } = await asking({}, { settings: { baseURL: await startProgram('0', rules) } })
    expect(await ask()).toMatchObject({ text: 'by the rules', usage: { inputTokens: 9 } })
  })
})

describe('embeddings', () => {
  const cosine = (a: number[], b: number[]) => a.reduce((sum, number, at) => sum + number * (b[at] ?? 0), 0)

  test('place the same words, and those that the test calls the same, together, and others apart', async () => {
    const provider = await startProvider({ answer: answerPlainly, embeddings: { synonyms: [['boat', 'vessel']] } })
    onTestFinished(() => provider.close())
    const input = ['A red boat', 'red vessel, a!', 'quarterly payroll']
    const response = await post(`${provider.url}/embeddings`, { model: 'm', input })
    const { data } = (await response.json()) as { data: { index: number; embedding: number[] }[] }
    const [boat, vessel, payroll] = data.map(({ embedding }) => embedding) as [number[], number[], number[]]
    expect([data.map(({ index }) => index), boat.length]).toEqual([[0, 1, 2], 128])
    expect(cosine(boat, vessel)).toBeCloseTo(1)
    expect(Math.abs(cosine(boat, payroll))).toBeLessThan(0.3)
    expect(provider.log).toMatchObject([
      { kind: 'received', model: 'm', lastUserText: 'quarterly payroll', body: { input } },
      { kind: 'answered', usage: null },
    ])
  })

  test('fail as they are asked to, and refuse what is no request', async () => {
    const faults = () => ({ status: { code: 503 } })
    const provider = await startProvider({ answer: answerPlainly, embeddings: { faults } })
    onTestFinished(() => provider.close())
    expect((await post(`${provider.url}/embeddings`, { model: 'm', input: 'a' })).status).toBe(503)
    expect((await post(`${provider.url}/embeddings`, { model: 'm', input: [] })).status).toBe(404)
    expect(provider.log.at(-1)).toMatchObject({ kind: 'refused', status: 503 })
  })
})

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
}

async function startProgram(...args: string[]): Promise<string> {
  const program = join(import.meta.dirname, '../../src/testing/provider-program.ts')
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('the program ended without a line')
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-provider-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
