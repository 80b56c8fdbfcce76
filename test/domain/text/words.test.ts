import { describe, expect, test } from 'vitest'
import { excerptOf } from '../../../src/domain/text/excerpt.ts'
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
    ['http server', 'HTTPServer'],
    ['pdf export', 'the PDFExport'],
    ['httpserver', 'HTTPServer'],
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
    expect(spellingsIn('PDFExport, two PDFs at 5 MHz')).toEqual([
      'pdf',
      'export',
      'pdfexport',
      'two',
      'pdfs',
      'at',
      '5',
      'mhz',
    ])
  })

  test('every part of a long text is indexed, also where each character makes a word', () => {
    expect(wordCounts(`${'山川'.repeat(4500)}終点`).get('終点')).toBe(1)
    expect(wordCounts(`${'word '.repeat(3500)}end`).get('end')).toBe(1)
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
