import { afterEach, beforeEach, describe, expect, onTestFinished } from 'vitest'
import type { MemoryApp } from '../../src/api/views/memory.ts'
import type { Embedder } from '../../src/domain/embedder.ts'
import { EmbeddingPasses } from '../../src/memory/embed-memories.ts'
import { memoryApp } from '../../src/memory/memory-app.ts'
import { packVector } from '../../src/memory/packed-vector.ts'
import { createSemanticIndex } from '../../src/memory/semantic-index.ts'
import { baselineSentences } from '../../src/memory/similarity-baseline.ts'
import { httpEmbedder } from '../../src/models/embedder/http-embedder.ts'
import { archiveMemories } from '../../src/store/knowledge/memories.ts'
import { dropUnusedVectors, findEmbedder, saveVectors, vectorsAfter } from '../../src/store/knowledge/memory-vectors.ts'
import { readEvents } from '../../src/store/rows/events.ts'
import type { Store } from '../../src/store/store.ts'
import { systemClock } from '../../src/system.ts'
import {
  answerPlainly,
  type EmbeddingsFaults,
  type EmbeddingsRequest,
  gate,
  manualClock,
  startProvider,
  type TestProvider,
} from '../../src/testing.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'

const synonyms = [
  ['boat', 'vessel'],
  ['red', 'crimson'],
  ['painted', 'coloured'],
]
const statement = 'boat painted red'
const paraphrase = 'vessel coloured crimson'
const still = new AbortController().signal

describe.each(databases)('memories by their meaning on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  let provider: TestProvider
  let faults: (request: EmbeddingsRequest) => EmbeddingsFaults | undefined
  let embedder: Embedder
  let app: MemoryApp
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
    faults = () => undefined
    provider = await startProvider({
      answer: answerPlainly,
      embeddings: { synonyms, faults: (request) => faults(request) },
    })
    embedder = embedderOf('small')
    app = appWith(embedder)
  })
  afterEach(async () => {
    await provider.close()
    await runtime.remove()
  })

  const embedderOf = (model: string, url = provider.url) => httpEmbedder({ baseURL: url, model }, systemClock)
  /** What another process would be. */
  const appWith = (by: Embedder) => {
    const semanticIndex = createSemanticIndex(by, runtime)
    onTestFinished(() => semanticIndex.close())
    return memoryApp({ ...runtime, semanticIndex }, 1000)
  }
  const embedAll = (by = embedder, signal = still) => new EmbeddingPasses(by, runtime, signal).next()
  const found = async (question = paraphrase, by = app) =>
    (await by.searchMemories(question, { limit: 5 })).memories.map(({ content }) => content)
  const requests = () => provider.log.flatMap((line) => (line.kind === 'received' ? [line.lastUserText] : []))
  const rowsOf = async (by = embedder) =>
    runtime.store.read(async (rows) => {
      const kept = await findEmbedder(rows, by.name)
      return kept ? (await vectorsAfter(rows, kept.id, 0, 1000)).map(({ memoryId }) => memoryId).sort() : []
    })
  const events = async () =>
    (await runtime.store.read((rows) => readEvents(rows))).filter(({ kind }) => kind === 'memory.words_only')

  test('what is said in other words is found only with an embedder, and says that its meaning found it', async () => {
    await app.remember({ content: statement })
    await app.remember({ content: 'Releases are cut on Tuesdays' })
    await embedAll()
    expect(await memoryApp(runtime, 1000).searchMemories(paraphrase, { limit: 5 })).toEqual({ memories: [] })
    const search = await app.searchMemories(paraphrase, { limit: 5 })
    expect(search).toEqual({ memories: [expect.objectContaining({ id: 1, words: [], meaning: 1 })] })
  })

  test('what nobody said anything like is not found by its meaning', async () => {
    await app.remember({ content: statement })
    await embedAll()
    expect(await found('quarterly payroll deadline')).toEqual([])
  })

  test('words and meaning are one list: who has both comes before who has one', async () => {
    await app.remember({ content: 'vessel licence' })
    await app.remember({ content: `${statement} vessel` })
    await app.remember({ content: statement })
    await embedAll()
    expect(await found()).toEqual([`${statement} vessel`, 'vessel licence', statement])
  })

  test('without an embedder nobody is asked and no row of vectors is looked at', async () => {
    const queries: string[] = []
    const store = watched(runtime.store, queries)
    const plain = memoryApp({ store, clock: runtime.clock }, 1000)
    await plain.remember({ content: statement })
    expect(await found('boat', plain)).toEqual([statement])
    expect([requests(), queries.filter((text) => /vector|embedder/.test(text))]).toEqual([[], []])
    expect(queries.length).toBeGreaterThan(3)
  })

  test('with nothing embedded yet nobody is asked', async () => {
    await app.remember({ content: statement })
    expect(await found('boat')).toEqual([statement])
    expect(requests()).toEqual([])
  })

  test('a question that was asked lately is not asked again', async () => {
    await app.remember({ content: statement })
    await embedAll()
    const before = requests().length
    await found()
    await found()
    expect(requests().slice(before)).toEqual([paraphrase])
  })

  test('while it is down words alone decide, which is told once, and nobody waits again', async () => {
    await app.remember({ content: statement })
    await embedAll()
    faults = () => ({ status: { code: 500 } })
    const first = await app.searchMemories('red boat', { limit: 5 })
    expect(first).toMatchObject({ memories: [{ id: 1 }], wordsOnly: expect.stringContaining('500') })
    const before = requests().length
    expect(await app.searchMemories('red vessel', { limit: 5 })).toMatchObject({
      memories: [{ id: 1, words: ['red'] }],
      wordsOnly: expect.stringContaining('did not answer a moment ago'),
    })
    expect(requests().length).toBe(before)
    // Events wait for every transaction that is older, whoever's it is.
    await untilSo(async () => (await events()).length > 0)
    expect(await events()).toMatchObject([{ payload: { code: 'embedder_failed', remedy: expect.any(String) } }])
  })

  test('one that never answers holds nobody up, and its answer is of use when it comes', async () => {
    await app.remember({ content: statement })
    await embedAll()
    const clock = manualClock()
    const answering = gate()
    const slow: Embedder = {
      name: embedder.name,
      async embed(texts, options) {
        await answering.pass(options.signal)
        return embedder.embed(texts, options)
      },
    }
    const meaning = createSemanticIndex(slow, { store: runtime.store, clock })
    onTestFinished(() => meaning.close())
    const meant = meaning.search(paraphrase)
    await answering.reached
    await clock.advance(1000)
    expect(await meant).toMatchObject({ near: [], reason: expect.stringContaining('did not answer in time') })
    answering.open()
    expect(await meaning.search(paraphrase)).toMatchObject({ near: [{ id: 1 }] })
  })

  test('closing ends what is being asked', async () => {
    await app.remember({ content: statement })
    await embedAll()
    faults = () => ({ silent: true })
    const meaning = createSemanticIndex(embedder, runtime)
    const meant = meaning.search(paraphrase)
    await provider.until((line) => line.kind === 'received' && line.lastUserText === paraphrase)
    meaning.close()
    expect(await meant).toMatchObject({ near: [], reason: 'heddle is closing' })
    await provider.until(({ kind }) => kind === 'lost')
  })

  test('vectors of another length, and none at all, are words alone', async () => {
    await app.remember({ content: statement })
    await embedAll()
    for (const body of [{ data: [{ embedding: [1, 2, 3] }] }, { data: [] }, 'no']) {
      faults = () => ({ body })
      const { memories, wordsOnly } = await appWith(embedder).searchMemories('red', { limit: 5 })
      expect([memories.length, wordsOnly]).toEqual([1, expect.stringContaining('the embedder')])
    }
  })

  test('what was replaced, forgotten or archived is not found, by another process either', async () => {
    const other = appWith(embedder)
    await app.remember({ content: statement })
    await app.remember({ content: 'Default branch: master' })
    await embedAll()
    expect(await found(paraphrase, other)).toEqual([statement])
    await app.forgetMemory(1)
    await app.changeMemory(2, { content: 'Default branch: main' })
    expect(await rowsOf()).toEqual([])
    expect(await found(paraphrase, other)).toEqual([])
    await app.remember({ content: `${statement} again` })
    await embedAll()
    expect(await rowsOf()).toEqual([3, 4])
    expect(await found(paraphrase, other)).toEqual([`${statement} again`])
    await runtime.store.write('submit', (tx) => archiveMemories(tx, 9))
    expect(await rowsOf()).toEqual([])
    expect(await found(paraphrase, other)).toEqual([])
  })

  test('what another process added since is found', async () => {
    const other = appWith(embedder)
    await app.remember({ content: 'Releases are cut on Tuesdays' })
    await embedAll()
    expect(await found(paraphrase, other)).toEqual([])
    await app.remember({ content: statement })
    await embedAll()
    expect(await found(paraphrase, other)).toEqual([statement])
  })

  test('another model makes its own, and those of the one before are removed in time', async () => {
    const next = embedderOf('large')
    await app.remember({ content: statement })
    await embedAll()
    expect(await found(paraphrase, appWith(next))).toEqual([])
    await embedAll(next)
    expect(await found(paraphrase, appWith(next))).toEqual([statement])
    expect([await rowsOf(), await rowsOf(next)]).toEqual([[1], [1]])
    // Nobody has used the first since.
    await runtime.store.write('embed', (tx) =>
      tx.run(tx.build.updateTable('embedders').set({ used_at: 1 }).where('name', '=', embedder.name)),
    )
    await embedAll(next)
    expect([await rowsOf(), await rowsOf(next)]).toEqual([[], [1]])
    expect(await runtime.store.read((rows) => findEmbedder(rows, embedder.name))).toBeUndefined()
  })

  test('a model that became another under its name is noticed, and everything is made anew', async () => {
    await app.remember({ content: statement })
    await embedAll()
    let now: Embedder['embed'] = embedder.embed
    const changing: Embedder = { name: embedder.name, embed: (texts, options) => now(texts, options) }
    const living = appWith(changing)
    expect(await found(paraphrase, living)).toEqual([statement])
    const other = embedderOf('large')
    const longer: Embedder['embed'] = async (texts, options) =>
      (await other.embed(texts, options)).map((vector) => Float32Array.from([...vector, 0.1]))
    for (const [next, otherOrder] of [
      [other.embed, 'crimson vessel coloured'],
      [longer, 'coloured crimson vessel'],
    ] as const) {
      now = next
      await embedAll(changing)
      // One that it has asked before, and one that it has not.
      expect(await found(paraphrase, living)).toEqual([statement])
      expect(await found(otherOrder, living)).toEqual([statement])
    }
  })

  test('after a restart everything is there, and nothing is embedded twice', async () => {
    await app.remember({ content: statement })
    await embedAll()
    await runtime.restart()
    const before = requests().length
    await embedAll()
    expect(requests().slice(before)).toEqual([baselineSentences[0]])
    expect(await found(paraphrase, appWith(embedder))).toEqual([statement])
  })

  test('two processes that embed at once leave one vector each', async () => {
    for (let at = 0; at < 70; at++) await app.remember({ content: `${statement} ${at}`, tags: [`${at}`] })
    await Promise.all([embedAll(), embedAll()])
    const ids = await rowsOf()
    expect(ids.length).toBe(new Set(ids).size)
    expect(ids.length).toBe((await app.memories({ limit: 100 })).length)
  })

  test('a memory that is forgotten while its vector is made gets none', async () => {
    await app.remember({ content: statement })
    await app.remember({ content: 'Releases are cut on Tuesdays' })
    const slow: Embedder = {
      name: embedder.name,
      async embed(texts, options) {
        const vectors = await embedder.embed(texts, options)
        if (texts.includes(statement)) await app.forgetMemory(1)
        return vectors
      },
    }
    await embedAll(slow)
    expect(await rowsOf()).toEqual([2])
  })

  test('those that are forgotten at the very moment keep no vector either', async () => {
    const ids: number[] = []
    for (let at = 0; at < 20; at++) ids.push((await app.remember({ content: `thing${at} in place${at}` })).memory.id)
    await embedAll()
    const { id } = (await runtime.store.read((rows) => findEmbedder(rows, embedder.name))) ?? { id: 0 }
    await runtime.store.write('embed', async (tx) => void (await tx.run(tx.build.deleteFrom('memory_vectors'))))
    const vector = packVector(Float32Array.of(1))
    await Promise.all(
      ids.flatMap((memoryId, at) => {
        const made = [{ memoryId, content: `thing${at} in place${at}`, vector }]
        return [runtime.store.write('embed', (tx) => saveVectors(tx, id, made)), app.forgetMemory(memoryId)]
      }),
    )
    expect(await rowsOf()).toEqual([])
  })

  test('the newest are embedded first', async () => {
    for (let at = 0; at < 40; at++) await app.remember({ content: `number${at} is kept apart${at}` })
    await embedAll()
    const [, , ...batches] = ['', ...requests()]
    expect(batches.map((last) => /number(\d+)/.exec(last)?.[1])).toEqual(['8', '0'])
  })

  test('one text that is refused keeps no other from its vector; a server that refuses all is asked again', async () => {
    for (const content of [statement, 'poison', 'Releases are cut on Tuesdays']) await app.remember({ content })
    faults = ({ texts }) => (texts.includes('poison') ? { status: { code: 400 } } : undefined)
    const passes = new EmbeddingPasses(embedder, runtime, still)
    await passes.next()
    expect(await rowsOf()).toEqual([1, 3])
    await app.remember({ content: 'Ada owns the billing service' })
    faults = () => ({ status: { code: 400 } })
    await expect(passes.next()).rejects.toMatchObject({ code: 'embedder_rejected' })
    faults = () => undefined
    await passes.next()
    expect(await rowsOf()).toEqual([1, 3, 4])
    await embedAll()
    expect(await rowsOf()).toEqual([1, 2, 3, 4])
  })

  test('vectors are for memories that count, and for an embedder that is there', async () => {
    await app.remember({ content: statement })
    const vector = packVector(Float32Array.of(1, 2))
    const kept = (id: number) =>
      runtime.store.write('embed', (tx) => saveVectors(tx, id, [{ memoryId: 1, content: statement, vector }]))
    expect(await kept(77)).toBe(0)
    await embedAll()
    const id = (await runtime.store.read((rows) => findEmbedder(rows, embedder.name)))?.id ?? 0
    expect(await kept(id)).toBe(0)
    expect(await runtime.store.write('embed', (tx) => dropUnusedVectors(tx, Number.MAX_SAFE_INTEGER, 1))).toBe(1)
    expect(await rowsOf()).toEqual([])
  })
})

/** A store that notes each statement that is run by it. */
function watched(store: Store, texts: string[]): Store {
  const noting = <R extends { all: unknown; first: unknown; run?: unknown; dialect: Store['dialect'] }>(rows: R): R =>
    new Proxy(rows, {
      get(target, name) {
        const value = Reflect.get(target, name)
        if (name !== 'all' && name !== 'first' && name !== 'run') return value
        return (query: never) => {
          const asked = query as { prepare?(dialect: unknown): { sql: string }; compile?(): { sql: string } }
          texts.push((asked.prepare?.(target.dialect) ?? asked.compile?.())?.sql ?? '')
          return (value as (query: never) => unknown).call(target, query)
        }
      },
    })
  return {
    ...store,
    read: (body) => store.read((rows) => body(noting(rows))),
    write: (area, body) => store.write(area, (tx) => body(noting(tx))),
  }
}
