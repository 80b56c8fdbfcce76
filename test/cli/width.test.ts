import { expect, test } from 'vitest'
import { cut, width, wrapped } from '../../src/cli/terminal/screen.ts'

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
  expect(wrapped('⚠️⚠️⚠️', 4)).toEqual(['⚠️⚠️', '⚠️'])
  expect(cut('⚠️⚠️⚠️', 5)).toBe('⚠️⚠️…')
})

test('a cut text closes the colours that it opens', () => {
  expect(cut('\u001b[31mred words\u001b[39m', 4)).toBe('\u001b[31mred\u001b[39m…')
})

test('cutting takes time in proportion to the text, even if most of it takes no column', () => {
  const text = `a${'\u00ad'.repeat(100_000)}${'b'.repeat(10)}`
  const from = process.cpuUsage()
  expect(cut(text, 5).endsWith('bbb…')).toBe(true)
  const { user, system } = process.cpuUsage(from)
  expect((user + system) / 1000).toBeLessThan(5000)
})
