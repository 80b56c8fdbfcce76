import { afterEach, beforeEach, describe, expect } from 'vitest'
import { remindedOf } from '../../src/memory/describe.ts'
import { EmbeddingPasses } from '../../src/memory/embed-memories.ts'
import { remember } from '../../src/memory/remember.ts'
import { httpEmbedder } from '../../src/models/embedder/http-embedder.ts'
import { systemClock } from '../../src/system.ts'
import { answerPlainly, startProvider, type TestProvider } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type Play } from './test-team.ts'

const synonyms = [
  ['boat', 'vessel'],
  ['red', 'crimson'],
  ['painted', 'coloured'],
  ['lies', 'rests'],
  ['beside', 'nearby'],
]
const trusted = { integrity: 'trusted' as const, sources: [] }

describe.each(databases)('an agent with an embedder on %s', (database) => {
  const test = testOn(database)
  let office: Office
  let provider: TestProvider
  let isDown: boolean
  beforeEach(async () => {
    isDown = false
    const faults = () => (isDown ? { reset: true } : undefined)
    provider = await startProvider({ answer: answerPlainly, embeddings: { synonyms, faults } })
  })
  afterEach(async () => {
    await office.remove()
    await provider.close()
  })

  const begin = async (coordinator: Play, contents: string[]) => {
    const embedder = httpEmbedder({ baseURL: provider.url, model: 'small' }, systemClock)
    office = await newOffice(database, { coordinator }, { embedder })
    for (const content of contents)
      await office.engine.store.write('submit', (tx) =>
        remember(tx, { content, source: 'user', label: trusted }, 1, 1000),
      )
    await new EmbeddingPasses(embedder, office.engine, new AbortController().signal).next()
  }
  const noteOf = (at: number) => office.requestsOf('coordinator')[at]?.note ?? ''

  test('is reminded of what means the same in other words, and that is noted', async () => {
    await begin(() => ({ text: 'ok' }), ['boat painted red', 'Releases are cut on Tuesdays'])
    const { runId } = await office.ask('vessel coloured crimson')
    expect(noteOf(0)).toContain('[id:1] boat painted red')
    expect(noteOf(0)).not.toContain('Tuesdays')
    expect(await office.engine.store.read((rows) => remindedOf(rows, runId ?? ''))).toMatchObject([
      { id: 1, words: [], content: 'boat painted red' },
    ])
  })

  test('is not reminded of what lies near by chance, however much there is', async () => {
    const rows = Array.from({ length: 60 }, (_, at) => `item${at} lies in shelf${at} beside door${at}`)
    await begin(() => ({ text: 'ok' }), rows)
    await office.ask('somewhere everything rests nearby')
    await office.ask('how are you today')
    expect([noteOf(0), noteOf(1)].join()).not.toContain('[id:')
    const { near = [] } = (await office.engine.semanticIndex?.search('somewhere everything rests nearby')) ?? {}
    expect([near.length, near.filter(({ isChance }) => !isChance)]).toEqual([50, []])
  })

  test('finds by meaning what it asks for, told as such, and by words while nobody answers', async () => {
    const asking: Play = (said, last) =>
      /^find /.test(last)
        ? { calls: [{ name: 'memory_query', input: { query: last.slice(5) } }] }
        : { text: said.at(-1) ?? '' }
    await begin(asking, ['boat painted red'])
    const ask = async (query: string) => JSON.parse((await office.ask(`find ${query}`)).text)
    expect(await ask('crimson vessel')).toMatchObject({ memories: [{ id: '[id:1]', by: 'meaning' }] })
    isDown = true
    const answer = await ask('a red thing')
    expect(answer).toMatchObject({ memories: [{ id: '[id:1]' }], note: expect.stringContaining('by words only') })
    expect(answer.memories[0]).not.toHaveProperty('by')
  })
})
