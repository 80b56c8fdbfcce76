// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are written this way
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import type { Embedder } from '../../src/domain/embedder.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { storeSecret } from '../../src/home/secrets.ts'
import { embedMemories } from '../../src/memory/embed-memories.ts'
import { memoryApp } from '../../src/memory/memory-app.ts'
import { answerPlainly, manualClock, startProvider, type TestEmbeddings } from '../../src/testing.ts'
import { openOwnerApp } from '../setup/owner-app.ts'
import { newTestRuntime } from '../setup/places.ts'
import { untilSo } from '../setup/until.ts'

const synonyms = [['boat', 'vessel']]

async function appWith(embeddings: TestEmbeddings, key = '') {
  const provider = await startProvider({ answer: answerPlainly, embeddings })
  onTestFinished(provider.close)
  const home = join(mkdtempSync(join(tmpdir(), 'heddle-embedding-')), 'home')
  onTestFinished(() => rmSync(join(home, '..'), { recursive: true, force: true }))
  await ensureHome(home)
  const paths = homePaths(home)
  writeFileSync(paths.config, `memory: { embedder: { baseURL: "${provider.url}", model: small${key} } }\n`)
  const told: string[] = []
  const app = await openOwnerApp({
    paths,
    config: await loadConfig(paths.config, {}),
    env: {},
    tell: (text) => told.push(text),
  })
  return { provider, app, told, paths }
}

test('whoever is at work embeds what is remembered, and stops at once', async () => {
  const { provider, app, told } = await appWith({ synonyms })
  await app.remember({ content: 'boat' })
  const work = await app.work()
  const embedded = (text: string) =>
    provider.until((line) => line.kind === 'received' && (line.body as { input: string[] }).input.includes(text))
  await embedded('boat')
  await untilSo(async () => (await app.searchMemories('vessel', { limit: 1 })).memories.length === 1)
  await work.stop()
  await app.close()
  expect(told).toEqual([])
})

test('an embedder gets the name of a stored secret instead of its value', async () => {
  const { provider, app, paths } = await appWith({ synonyms })
  await storeSecret(paths.secrets, 'vault', 'hunter2-horse')
  await app.remember({ content: 'the boat opens with hunter2-horse' })
  const work = await app.work()
  await provider.until(
    (line) =>
      line.kind === 'received' &&
      (line.body as { input: string[] }).input.includes('the boat opens with [secret:vault]'),
  )
  // So does the question of a search, also where the value would be cut.
  await untilSo(async () => (await app.searchMemories('vessel', { limit: 1 })).memories.length === 1)
  await app.searchMemories('which boat opens with hunter2-horse?', { limit: 1 })
  await app.searchMemories(`${'vessel '.repeat(284)} or hunter2-horse?`, { limit: 1 })
  await work.stop()
  await app.close()
  expect(JSON.stringify(provider.log)).toContain('which boat opens with [secret:vault]?')
  expect(JSON.stringify(provider.log)).not.toContain('hunter2')
})

test('a server that never answers keeps nobody from stopping or closing', async () => {
  const { provider, app } = await appWith({ faults: () => ({ silent: true }) })
  await app.remember({ content: 'boat' })
  const work = await app.work()
  await provider.until(({ kind }) => kind === 'received')
  await work.stop()
  await provider.until(({ kind }) => kind === 'lost')
  await app.close()
})

test('without its key everything else works, and is told what is missing', async () => {
  const { provider, app, told } = await appWith({}, ', apiKey: "${NOT_SET_ANYWHERE}"')
  await app.remember({ content: 'boat' })
  expect(await app.searchMemories('boat', { limit: 1 })).toMatchObject({ memories: [{ id: 1 }] })
  const work = await app.work()
  await untilSo(() => told.length > 0)
  await work.stop()
  await app.close()
  expect(provider.log).toEqual([])
  expect(told).toEqual(['error:  the embedder has no key: NOT_SET_ANYWHERE is not set'])
})

test('while nobody answers it is asked less and less often, told once, and goes on by itself', async () => {
  const clock = manualClock()
  const runtime = await newTestRuntime('sqlite', { clock })
  onTestFinished(runtime.remove)
  await memoryApp(runtime, 100).remember({ content: 'boat' })
  const asked: number[] = []
  let down = true
  const answered = Promise.withResolvers<void>()
  const embedder: Embedder = {
    name: 'test',
    async embed(texts) {
      asked.push(clock.monotonic())
      if (down) throw new HeddleError('embedder_unreachable', 'gone', 'wait', { retry: 'later' })
      if (texts.includes('boat')) answered.resolve()
      return texts.map(() => Float32Array.of(1, 0))
    },
  }
  const stop = new AbortController()
  const troubles: unknown[] = []
  const sleeping = asleep(clock)
  const embedding = embedMemories(
    embedder,
    { store: runtime.store, clock: sleeping.clock },
    {
      signal: stop.signal,
      onError: (error) => troubles.push(error),
    },
  )
  for (const pause of [1000, 2000, 4000, 8000]) {
    expect(await sleeping.next()).toBe(pause)
    await clock.advance(pause)
  }
  expect(await sleeping.next()).toBe(16_000)
  expect([asked.length, troubles.length]).toEqual([5, 1])
  down = false
  await clock.advance(16_000)
  await answered.promise
  expect(await sleeping.next()).toBe(5000)
  stop.abort()
  await embedding
})

/** Tells for how long somebody goes to sleep. */
function asleep(clock: ReturnType<typeof manualClock>) {
  let waiting = Promise.withResolvers<number>()
  return {
    async next() {
      const duration = await waiting.promise
      waiting = Promise.withResolvers()
      return duration
    },
    clock: {
      ...clock,
      sleep(duration: number, signal?: AbortSignal) {
        const slept = clock.sleep(duration, signal)
        waiting.resolve(duration)
        return slept
      },
    },
  }
}
