import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MemoryDraft } from '../../src/domain/memory.ts'
import { mayTell } from '../../src/domain/text/retelling.ts'
import { isSameStatement, looksAlike } from '../../src/domain/text/statement.ts'
import { recall } from '../../src/memory/recall.ts'
import { remember, type StoredMemory } from '../../src/memory/remember.ts'
import { findMemory, listMemories } from '../../src/store/knowledge/memories.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { pairs } from './pairs.ts'

const trusted = { integrity: 'trusted' as const, sources: [] }
const untrusted = { integrity: 'untrusted' as const, sources: ['url:https://a.example'] }
const all = Object.entries(pairs).flatMap(([group, some]) =>
  some.map(([older, newer, kinship]) => ({ group, older, newer, kinship })),
)

test('the table has at least 80 pairs, each once', () => {
  expect(new Set(all.map(({ older, newer }) => `${older}\n${newer}`)).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(80)
})

test.each(all)('$group: "$newer" beside "$older" is $kinship', ({ older, newer, kinship }) => {
  for (const [a, b] of [
    [older, newer],
    [newer, older],
  ] as const)
    expect(isSameStatement(a, b) ? 'same' : looksAlike(a, b) ? 'alike' : 'apart').toBe(kinship)
})

test.each([
  ['Ada is treated for migraine, e.g. by Dr. Weiss in Bonn.', true],
  ['Ada is treated for migraine. In Bonn it is Dr. Weiss who does that.', true],
  ['Ada is in Bonn. Bela has migraine. He is treated by Dr. Weiss.', false],
])('a text may tell a statement in two sentences, which no abbreviation ends: %s', (text, tells) => {
  expect(mayTell('Ada is treated for migraine by Dr. Weiss in Bonn')(text)).toBe(tells)
})

test.each([
  ['The vault code is 993311', 'Der Tresorcode lautet 993311.'],
  ['The vault code is 993311', '金庫の暗証番号は９９３３１１です。'],
  ['The vault code is 993311', 'The vault opens with 993 311, or 99-33-11.'],
  ['My IBAN is DE44500105175407324931', 'The refund goes to DE44 5001 0517 5407 3249 31.'],
  ['The phone of Ada is +49 171 5550199', 'Call her: 0171 5550199'],
  ['The customer is acme@a.example', 'Mail went to ACME@a.example.'],
])('"%s" is told by what has its value, in whatever words: %s', (statement, text) => {
  expect(mayTell(statement)(`It was a long day. ${text} Nothing else was said.`)).toBe(true)
})

test.each([
  ['I have diabetes', 'I have diabetes and next Friday my parents come for dinner, so think of a menu.'],
  ['I have diabetes', 'The user has diabetes type 2.'],
  ['I have diabetes', 'Die Nutzerin hat Diabetes.'],
  ['I am pregnant', 'The user planned her leave. She is pregnant.'],
  ['I was fired', 'The user was fired.'],
  ['I am looking for a new job', 'The user looks for a new job.'],
  ['Ich wohne in Hamburg', 'Der Nutzer wohnt in Hamburg.'],
  ['Ich bin schwanger', 'Die Nutzerin ist schwanger.'],
  ['Ich nehme Antidepressiva', 'Der Nutzer nimmt Antidepressiva.'],
  ['I live in Hamburg', 'The user, living in Hamburg, asked for the weather.'],
  ['私は妊娠しています', 'ユーザーは妊娠している。'],
  ['The user is pregnant', 'I am pregnant.'],
  ['Coffee is good', 'Bela said that coffee is very good.'],
])('"%s" is told by a sentence with its telling words about the same person: %s', (statement, text) => {
  expect(mayTell(statement)(`It was a long day. ${text} Nothing else was said.`)).toBe(true)
})

test.each([
  ['I like coffee', 'Bela drinks coffee at noon.'],
  ['I like coffee', 'We met Bela. The bakery ordered coffee.'],
  ['I was fired', 'The event was fired on every click.'],
  ['I have diabetes', 'A study on diabetes was read.'],
  ['私は妊娠しています', '田中さんは妊娠している。'],
  ['I am here', 'The user was there.'],
])('"%s" is not told by a sentence about somebody else, which is only named: %s', (statement, text) => {
  expect(mayTell(statement)(text)).toBe(false)
  expect(mayTell(statement, { ofAnyone: true })(text)).toBe(statement !== 'I am here')
})

test.each([
  ['I live in Hamburg', 'The office in Hamburg opens in May.'],
  ['Mein Bruder ist krank', 'Der Bruder des Nutzers kommt zu Besuch.'],
])('only the verb of "I" may differ: "%s" is not told by "%s"', (statement, text) => {
  for (const ofAnyone of [false, true]) expect(mayTell(statement, { ofAnyone })(text)).toBe(false)
})

test.each([
  ['The audit of 2026-03-04 cost 10,000 euros', 'The office of 2026-03-04 is rented for 10,000 euros.'],
  ['Sprint 12 ends in week 34', 'Room 12 is empty in week 34.'],
  ['The proxy is on 993311', 'The ticket is 9933112.'],
])('dates, round and small numbers are no values: "%s" is not told by "%s"', (statement, text) => {
  expect(mayTell(statement)(text)).toBe(false)
})

describe.each(databases)('statements on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const keep = (content: string, more: Partial<MemoryDraft> = {}): Promise<StoredMemory> =>
    runtime.store.write('submit', (tx) =>
      remember(tx, { content, source: 'user', label: trusted, ...more }, 0, 100_000),
    )
  const found = async (question: string) =>
    (await runtime.store.read((rows) => recall(rows, question, 0, 50))).map(({ memory }) => memory.content)

  test('of every pair both statements are found unless they are the same, and what looks alike is pointed out', async () => {
    for (const { older, newer, kinship } of all) {
      const first = await keep(older)
      const second = await keep(newer)
      expect({ newer, isMerged: second.isMerged, superseded: second.superseded }).toEqual({
        newer,
        isMerged: kinship === 'same',
        superseded: [],
      })
      if (kinship === 'same') expect(second).toMatchObject({ id: first.id, content: older })
      if (kinship === 'alike') expect(second.near.map(({ id }) => id)).toContain(first.id)
    }
    for (const { older, newer, kinship } of all) {
      expect(await found(older)).toContain(older)
      expect(await found(newer)).toContain(kinship === 'same' ? older : newer)
    }
  })

  test('no statement that is added makes another one unfindable', async () => {
    // Few words in any order: every statement looks like every other.
    const word = fc.constantFrom('db1', 'db2', 'is', 'not', 'port', '8080', '8081', 'C++', 'C#', 'Ada', 'to', '-5', '5')
    const statement = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '))
    await fc.assert(
      fc.asyncProperty(fc.array(statement, { minLength: 2, maxLength: 12 }), async (statements) => {
        const before = (await runtime.store.read((rows) => listMemories(rows, { limit: 1000 }))).length
        const ids = new Map<number, string>()
        for (const each of statements) ids.set((await keep(each)).id, each)
        const left = await runtime.store.read((rows) => listMemories(rows, { limit: 1000 }))
        expect(left.length).toBeGreaterThanOrEqual(before)
        for (const [id, said] of ids) {
          expect(left.find((memory) => memory.id === id)?.content).toSatisfy((is: string) => isSameStatement(is, said))
          const hits = await runtime.store.read((rows) => recall(rows, said, 0, 1000))
          expect(hits.map(({ memory }) => memory.id)).toContain(id)
        }
      }),
      { numRuns: 12 },
    )
  })

  test('the same statement said by many at once is one memory, and all others are kept', async () => {
    await Promise.all(Array.from({ length: 12 }, () => keep('Backups are made at night')))
    const ports = Array.from({ length: 12 }, (_, at) => `The harbour listens on port ${8001 + at}`)
    await Promise.all(ports.map((content) => keep(content)))
    const left = await runtime.store.read((rows) => listMemories(rows, { limit: 50 }))
    expect(left.map(({ content }) => content).sort()).toEqual(['Backups are made at night', ...ports])
    expect(left.find(({ content }) => content.startsWith('Backups'))?.score).toBe(12)
  })

  test('a statement replaces the one that it names and no other, and takes over what that one counted', async () => {
    const old = await keep('The proxy is on 8080')
    await keep('The proxy is on 8080')
    const other = await keep('The proxy is on 8081')
    const next = await keep('The proxy is on 9090', { replaces: old.id })
    expect(next.superseded.map(({ id }) => id)).toEqual([old.id])
    expect(next.near.map(({ id }) => id)).toEqual([other.id])
    expect((await found('proxy')).sort()).toEqual(['The proxy is on 8081', 'The proxy is on 9090'])
    const memory = (id: number) => runtime.store.read((rows) => findMemory(rows, id))
    expect(await memory(old.id)).toMatchObject({ content: 'The proxy is on 8080', supersededBy: next.id })
    expect(await memory(next.id)).toMatchObject({ score: 2 })
  })

  test('a statement that was kept first can still replace another: it is not kept twice', async () => {
    const old = await keep('The proxy is on 8080')
    const next = await keep('The proxy is on 9090')
    const again = await keep('The proxy is on 9090', { replaces: old.id })
    expect(again).toMatchObject({ id: next.id, isMerged: true, superseded: [{ id: old.id }] })
    expect(await found('proxy')).toEqual(['The proxy is on 9090'])
  })

  test('another spelling replaces the one that is named; the very same text is no replacement', async () => {
    const old = await keep('the proxy is on 8080')
    expect(await keep('the proxy is on 8080', { replaces: old.id })).toMatchObject({ id: old.id, superseded: [] })
    expect(await keep('The proxy is on 8080.', { replaces: old.id })).toMatchObject({
      isMerged: false,
      superseded: [{ id: old.id }],
    })
    await expect(keep('The proxy is on 7070', { replaces: old.id })).rejects.toMatchObject({ code: 'superseded' })
  })

  test('strangers replace nothing that is trusted, by its number neither; a person replaces what strangers said', async () => {
    const own = await keep('The proxy is on 8080')
    const strange = { source: 'agent' as const, label: untrusted }
    const theirs = await keep('The proxy is on 9090', strange)
    expect(theirs).toMatchObject({ superseded: [], near: [{ id: own.id }] })
    await expect(keep('The proxy is on 7070', { ...strange, replaces: own.id })).rejects.toMatchObject({
      code: 'not_trusted',
    })
    expect(await keep('The proxy is on 8080', strange)).toMatchObject({ isMerged: false, superseded: [] })
    const person = await keep('The proxy is on 6060', { replaces: theirs.id })
    expect(person.superseded.map(({ id }) => id)).toEqual([theirs.id])
    expect((await found('proxy')).sort()).toEqual([
      'The proxy is on 6060',
      'The proxy is on 8080',
      'The proxy is on 8080',
    ])
  })

  test('the same words said by the user stand for those of a stranger', async () => {
    const theirs = await keep('The proxy is on 9090', { source: 'agent', label: untrusted })
    const own = await keep('the proxy is on 9090')
    expect(own).toMatchObject({ isMerged: false, superseded: [{ id: theirs.id }] })
    expect(await found('proxy')).toEqual(['the proxy is on 9090'])
    const other = await keep('The lamp is green', { source: 'agent', label: untrusted })
    const lamp = await keep('The lamp is green', { replaces: other.id })
    const now = await runtime.store.read((rows) => findMemory(rows, lamp.id))
    expect({ id: now?.id, label: now?.label }).toEqual({ id: other.id + 1, label: trusted })
  })
})
