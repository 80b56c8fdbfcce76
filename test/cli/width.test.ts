import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { truncateToWidth, width, wrapText } from '../../src/cli/terminal/screen.ts'

test('emoji made by a variation selector take two columns', () => {
  expect(['⚠️', '❤️', '✔️', '1️⃣', '👩‍👩‍👧', '🇦🇹', '👍🏽'].map(width)).toEqual([2, 2, 2, 2, 2, 2, 2])
})

test('the same signs without a variation selector take one column', () => {
  expect(['⚠', '❤', '✔', '…', 'é', 'e\u0301'].map(width)).toEqual([1, 1, 1, 1, 1, 1])
})

test('characters that a terminal does not draw take no column', () => {
  expect(['a\u200bb', 'a\u00adb', 'a\u2060b', '\ufeffab'].map(width)).toEqual([2, 2, 2, 2])
})

test('wide letters and halves of them are counted as a terminal draws them', () => {
  expect(['漢字', 'ｱｲ', '한', '　', '\u{20000}'].map(width)).toEqual([4, 2, 2, 2, 2])
})

test('our own colours take no column', () => {
  expect(width('\u001b[1m⚠️ stop\u001b[22m')).toBe(7)
})

test('rows and cuts keep to the columns that emoji take', () => {
  expect(wrapText('⚠️⚠️⚠️', 4)).toEqual(['⚠️⚠️', '⚠️'])
  expect(truncateToWidth('⚠️⚠️⚠️', 5)).toBe('⚠️⚠️…')
})

test('a cut text closes the colours that it opens', () => {
  expect(truncateToWidth('\u001b[31mred words\u001b[39m', 4)).toBe('\u001b[31mred\u001b[39m…')
})

test('cutting takes time in proportion to the text, even if most of it takes no column', () => {
  const text = `a${'\u00ad'.repeat(100_000)}${'b'.repeat(10)}`
  const from = process.cpuUsage()
  expect(truncateToWidth(text, 5).endsWith('bbb…')).toBe(true)
  const { user, system } = process.cpuUsage(from)
  expect((user + system) / 1000).toBeLessThan(5000)
})

test('letters, punctuation, arrows and lines that are not measured one by one have one column each', () => {
  const quick = [
    [0x20, 0x7e],
    [0xa1, 0xac],
    [0xae, 0x2ff],
    [0x2010, 0x2027],
    [0x2030, 0x205e],
    [0x2190, 0x21ff],
    [0x2500, 0x257f],
  ]
  const letters = quick.flatMap(([from = 0, to = 0]) =>
    Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at)),
  )
  const wrong = letters.filter(
    (letter) => stringWidth(letter) !== 1 || width(letter) !== 1 || width(`${letter}a`) !== 2,
  )
  expect(wrong).toEqual([])
})
