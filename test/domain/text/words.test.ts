import { describe, expect, test } from 'vitest'
import { excerptOf } from '../../../src/domain/text/excerpt.ts'
import { ownPart, questionTerms } from '../../../src/domain/text/question.ts'
import { searchTerms, spellingsIn, wordCounts, wordsIn } from '../../../src/domain/text/words.ts'

/** Whether a search for one text finds the other: some spelling of a word of the question is in the index. */
function meets(question: string, text: string): boolean {
  const index = new Set(wordCounts(text).keys())
  return searchTerms(question).every(({ forms }) => forms.some((form) => index.has(form)))
}

describe('folding words', () => {
  test.each([
    ['Müller', 'Mueller'],
    ['Mueller', 'Müller'],
    ['Muller', 'Müller'],
    ['Weiß', 'Weiss'],
    ['GROESSE', 'Größe'],
    ['Øresund', 'Oresund'],
    ['yildiz', 'Yıldız'],
    ['ﾃﾞｰﾀﾍﾞｰｽ', 'データベース'],
    ['ｗｉｆｉ', 'wifi'],
    ['エビ', 'えび'],
    ['サーバ', 'サーバー'],
    ['iphone', 'iPhone'],
    ['read file', 'readFile'],
    ['readfile', 'readFile'],
  ])('%s meets %s', (question, text) => {
    expect(meets(question, text)).toBe(true)
  })

  test.each([
    ['バス', 'パス'],
    ['ハス', 'バス'],
    ['poet', 'pot'],
    ['blue', 'blu'],
  ])('%s does not meet %s', (question, text) => {
    expect(meets(question, text)).toBe(false)
  })

  test('words of different scripts are told apart where they touch', () => {
    expect(wordsIn('社内Wi-Fiの名前')).toEqual(['社内', 'wi', 'fi', 'の', '名前'])
  })

  test('a word with inner capitals is whole and split, and its single letters are none', () => {
    expect(spellingsIn('iPhone readFile')).toEqual(['phone', 'iphone', 'read', 'file', 'readfile'])
    expect(spellingsIn('my iphone')).toContain('iphone')
  })

  test('every part of a long text is indexed, also where each character makes a word', () => {
    expect(wordCounts(`${'山川'.repeat(4500)}終点`).get('終点')).toBe(1)
    expect(wordCounts(`${'word '.repeat(3500)}end`).get('end')).toBe(1)
  })
})

describe('what a message asks for', () => {
  const paste = Array.from({ length: 200 }, (_, at) => `line ${at}: the carrier answered with status 200`).join('\n')
  const own = (message: string) =>
    questionTerms(message)
      .filter(({ isContext }) => !isContext)
      .map(({ forms: [first] }) => first)

  test('is its end and its beginning; what lies between is read, and counts little', () => {
    const message = `have a look at this\n\n${paste}\n\nwhich port has staging?`
    expect(own(message)).toEqual(['port', 'staging'])
    const context = questionTerms(message).filter(({ isContext }) => isContext)
    expect(context.map(({ forms: [first] }) => first)).toEqual(expect.arrayContaining(['carrier', '199']))
    expect(Math.max(...context.map(({ importance }) => importance))).toBeLessThan(0.1)
  })

  test('stands also in front of what is pasted, between it, and in the last line below it', () => {
    expect(own(`which port has staging? The log:\n\n${paste}`)).toEqual(expect.arrayContaining(['port', 'staging']))
    expect(own(`${paste}\nWhich port has staging? Thanks.\n${paste}`)).toEqual(expect.arrayContaining(['port']))
    expect(own(`${paste}\nwhich port has staging`)).toEqual(['port', 'staging'])
    expect(ownPart(`${paste}\nwhich port has staging`)).toBe('which port has staging')
  })

  test('is all of a message that is only fillers', () => {
    expect(own('what is it?')).toEqual(['what', 'is', 'it'])
  })

  test('is found in time however the message is made', () => {
    const began = process.cpuUsage()
    for (const hostile of [' '.repeat(500_000), '\n'.repeat(500_000), '?'.repeat(200_000), 'aB'.repeat(200_000)])
      questionTerms(hostile)
    const { user, system } = process.cpuUsage(began)
    expect((user + system) / 1000).toBeLessThan(5000)
  })
})

test('an excerpt shows the part of a long text that has the words, in any script and spelling', () => {
  const filler = 'nothing of the kind is told here. '.repeat(60)
  const { passage, marks } = excerptOf(`${filler}Herr Mueller has the key. ${filler}`, ['mueller', 'key'], 500)
  expect(passage).toContain('Herr Mueller has the key.')
  expect(passage.length).toBeLessThan(540)
  expect(marks.map(([from, to]) => passage.slice(from, to))).toEqual(['Mueller', 'key'])
  const mixed = excerptOf('社内Lumenの名前', ['lumen', '名前'])
  expect(mixed.marks.map(([from, to]) => mixed.passage.slice(from, to))).toEqual(['Lumen', '名前'])
})
