import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { indexWords } from '../../../src/domain/text/words.ts'
import { append } from '../../../src/engine/turns/append.ts'
import { exportTurns, importTurns } from '../../../src/engine/turns/transfer.ts'
import { manualClock } from '../../../src/testing.ts'
import { databases, newTestRuntime, type TestRuntime } from '../../setup/places.ts'
import { testOn } from '../../setup/test-on.ts'
import { untilSo } from '../../setup/until.ts'
import { finder } from './finder.ts'

describe.each(databases)('search in turns on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const say = (question: string, answer: string, more: { label?: string; folder?: string; principal?: string } = {}) =>
    append(runtime, {
      folder: more.folder ?? '/work',
      label: more.label ?? 'main',
      draft: { query: [{ content: question }], response: { content: answer } },
      ...(more.principal !== undefined && {
        principal: { kind: 'user' as const, id: more.principal, role: 'public' as const },
      }),
    })

  test('a turn is found by words of its question and of its answer, with its reference, session and time', async () => {
    const { turnId } = await say('Which port has staging?', 'Staging listens on 8443, behind the proxy.')
    await say('And production?', 'On 443.')
    const { pageOf } = finder(runtime)
    const { rows } = await pageOf({ query: 'staging proxy' })
    expect(rows).toEqual([
      {
        ref: `turn:${turnId}`,
        kind: 'turn',
        passage: 'Staging listens on 8443, behind the proxy.',
        marks: [
          [0, 7],
          [36, 41],
        ],
        words: expect.arrayContaining(['staging', 'proxy']),
        rank: 1,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        session: { label: 'main', folder: '/work' },
      },
    ])
    expect(await finder(runtime).found('which')).toEqual([])
    expect(await finder(runtime).found('ports')).toEqual(['Which [port] has staging?'])
  })

  test('what has more of the words comes first, and of two alike the newer one', async () => {
    await say('q', 'apples and pears')
    await say('q', 'apples, old')
    await say('q', 'apples, new')
    expect(await finder(runtime).found('apples pears')).toEqual([
      '[apples] and [pears]',
      '[apples], new',
      '[apples], old',
    ])
  })

  test('words that nearly everything contains order what the others find', async () => {
    await say('q', 'the loader of config')
    for (let count = 0; count < 120; count++) await say('q', `config ${count}`)
    await say('q', 'a loader')
    await finder(runtime).indexAll()
    expect(await finder(runtime).found('config loader')).toEqual(['the [loader] of [config]', 'a [loader]'])
    expect(await finder(runtime).found('config', { limit: 2 })).toEqual(['[config] 119', '[config] 118'])
  })

  test('pages follow each other without a gap or a duplicate while turns are added', async () => {
    for (let count = 0; count < 7; count++) await say('q', `apple ${count}`)
    const { pageOf } = finder(runtime)
    const first = await pageOf({ query: 'apple', limit: 3 })
    await say('q', 'apple, meanwhile')
    await finder(runtime).indexAll()
    const second = await pageOf({ query: 'apple', limit: 3, after: first.next ?? '' })
    const third = await pageOf({ query: 'apple', limit: 3, after: second.next ?? '' })
    const all = [first, second, third].map(({ rows }) => rows.map(({ passage }) => passage))
    expect(all).toEqual([['apple 6', 'apple 5', 'apple 4'], ['apple 3', 'apple 2', 'apple 1'], ['apple 0']])
    expect(third.next).toBeUndefined()
    await expect(pageOf({ query: 'apple', after: 'nonsense' })).rejects.toMatchObject({ code: 'bad_cursor' })
    await expect(pageOf({ query: 'apple', limit: 0 })).rejects.toMatchObject({ code: 'bad_limit' })
  })

  test('a session or a kind narrows the search', async () => {
    await say('q', 'apple here', { label: 'one' })
    await say('q', 'apple there', { label: 'two' })
    const { found, pageOf } = finder(runtime)
    expect(await found('apple', { session: 'one' })).toEqual(['[apple] here'])
    expect(await found('apple', { session: 'session:two', kind: 'turn' })).toEqual(['[apple] there'])
    expect(await found('apple', { kind: 'file' })).toEqual([])
    await expect(pageOf({ query: 'apple', session: 'three' })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a user finds own turns only, in an order that does not depend on what others have', async () => {
    await say('q', 'apple and melon of mia', { principal: 'mia', label: 'user:mia:main' })
    await say('q', 'apple, melon of the owner')
    await say('q', 'apple of tom', { principal: 'tom', label: 'user:tom:main' })
    await say('q', 'apple alone', { principal: 'mia', label: 'user:mia:main' })
    const mia = finder(runtime, { principal: 'user:mia' })
    const before = (await mia.pageOf({ query: 'apple melon secret' })).rows
    expect(before.map(({ passage }) => passage)).toEqual(['apple and melon of mia', 'apple alone'])
    for (let count = 0; count < 5; count++) await say('q', 'the secret apple')
    expect((await mia.pageOf({ query: 'apple melon secret' })).rows).toEqual(before)
    expect(await finder(runtime).found('melon')).toHaveLength(2)
  })

  test('no query is an error, and none is read as an expression', async () => {
    await say('"quoted" OR NOT', 'a AND b* (c d) 100% _ \u0000 end')
    await say('発売日はいつですか', '発売日は五月です 🙂')
    await say('متى', 'الموعد في مايو')
    const { found, refs } = finder(runtime)
    for (const odd of [
      '',
      ' ',
      '"',
      "'",
      '*',
      '%',
      '_',
      '\u0000',
      '\ud800',
      '" OR 1=1 --',
      '))((',
      'NEAR(',
      '?!.,;',
      '\u202e',
    ])
      expect(await refs(odd)).toEqual([])
    expect(await refs('x'.repeat(100_000))).toEqual([])
    expect(await refs(`${'zz yy '.repeat(20_000)}quoted`)).toEqual([])
    expect(await found("quoted'; DROP TABLE search_words; --")).toEqual(['"[quoted]" OR NOT'])
    expect(await found('発売日')).toEqual(['[発売日]は五月です 🙂'])
    expect(await found('🙂')).toEqual(['発売日は五月です [🙂]'])
    expect(await found('مايو')).toEqual(['الموعد في [مايو]'])
  })

  test('the passage of a long answer is where the words stand, and its end is found, too', async () => {
    const filler = (word: string) => Array.from({ length: 3000 }, (_, at) => `${word}${at}`).join(' ')
    await say('q', `${filler('a')} the crimson vessel leaves at dawn ${filler('b')} lastword`)
    const [passage = ''] = await finder(runtime).found('crimson vessel')
    expect(passage).toMatch(/^… .*the \[crimson\] \[vessel\] leaves at dawn .* …$/)
    expect(passage.length).toBeLessThan(300)
    expect(await finder(runtime).found('lastword')).toEqual([expect.stringContaining('[lastword]')])
  })

  test('secrets of the configuration are not shown', async () => {
    await say('q', 'the key is sk-123456 as you said')
    const { found } = finder(runtime, { hide: (text) => text.replaceAll('sk-123456', '[redacted]') })
    expect(await found('key said')).toEqual(['the [key] is [redacted] as you [said]'])
  })

  test('what no process has indexed yet is found by the next search, whichever process died before', async () => {
    await say('q', 'apple')
    const waiting = () => runtime.store.read((rows) => rows.all(rows.build.selectFrom('search_words').selectAll()))
    expect(await waiting()).toEqual([])
    await runtime.restart()
    expect(await finder(runtime).found('apple')).toEqual(['[apple]'])
  })

  test('a worker indexes in the background, a second after its start and every few seconds', async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const troubles: unknown[] = []
    await say('q', 'apple')
    const { index } = finder({ store: runtime.store, clock })
    const indexing = index.keepUp(stop.signal, (error) => troubles.push(error))
    const words = () => runtime.store.read((rows) => rows.all(rows.build.selectFrom('search_words').select('word')))
    const until = (word: string) =>
      untilSo(async () => {
        await clock.advance(500)
        return (await words()).some((each) => each.word === word)
      })
    await until('apple')
    await say('q', 'melon')
    await until('melon')
    stop.abort()
    await indexing
    expect(troubles).toEqual([])
  })

  test('imported turns are the owner’s to find', async () => {
    await say('q', 'apple of mia', { principal: 'mia', label: 'user:mia:main' })
    const lines: string[] = []
    for await (const line of exportTurns(runtime.store)) lines.push(JSON.stringify(line))
    const other = await newTestRuntime(database)
    try {
      await importTurns(
        other,
        (async function* () {
          yield* lines
        })(),
      )
      expect(await finder(other).found('apple')).toEqual(['[apple] of mia'])
      expect(await finder(other, { principal: 'user:mia' }).found('apple')).toEqual([])
    } finally {
      await other.remove()
    }
  })

  test('several processes share the work, and no word is stored twice', async () => {
    for (let count = 0; count < 60; count++) await say('q', `apple ${count} ${'word '.repeat(count)}`)
    await Promise.all([1, 2, 3].map(() => finder(runtime).index.catchUp()))
    await finder(runtime).indexAll()
    expect(await finder(runtime).refs('apple', { limit: 100 })).toHaveLength(60)
  })
})

test('every word of a long text is indexed once', () => {
  const text = Array.from({ length: 5000 }, (_, at) => `w${at}`).join(' ')
  expect(indexWords([text, 'the w1']).size).toBe(5000)
})
