import { expect, test } from 'vitest'
import { passageLine, passagesIn } from '../../src/domain/text/passage.ts'

const cut = (text: string) => passagesIn(text).map(({ line, heading, text }) => [line, heading, text])

test('each paragraph is a passage with its line and all it stands under', () => {
  const text =
    '\nbefore\n\n# Servers\n\n## Staging\nport 8443\nin rack 2\n\nold one: 9000\n# Releases #\n- Tuesdays\n- never Fridays'
  expect(cut(text)).toEqual([
    [2, null, 'before'],
    [7, 'Servers › Staging', 'port 8443\nin rack 2'],
    [10, 'Servers › Staging', 'old one: 9000'],
    [12, 'Releases', '- Tuesdays\n- never Fridays'],
  ])
})

test('a heading is a passage where nothing stands under it, not even a deeper one', () => {
  expect(cut('# A\n## B\n## C\n### D\nd\n# E')).toEqual([
    [2, 'A', 'B'],
    [5, 'A › C › D', 'd'],
    [6, null, 'E'],
  ])
})

test('code is not taken apart: its comments are no headings, its empty lines no ends', () => {
  expect(cut('# Run\n```sh\n# first\n\nmake\n```\nthen look\n~~~\n``` # no\n~~~')).toEqual([
    [2, 'Run', '```sh\n# first\n\nmake\n```\nthen look\n~~~\n``` # no\n~~~'],
  ])
  expect(cut('```\nnever closed\n\n# and on')).toEqual([[1, null, '```\nnever closed\n\n# and on']])
})

test('what is only ornament is left out', () => {
  expect(cut('---\n\n* * *\n\n#\n\n# ---\n\n|--|\n')).toEqual([])
})

test('lines end in any way, and those of a mark at the beginning are the same', () => {
  for (const end of ['\n', '\r\n', '\r'])
    expect(cut(['# A', '', 'one', 'two', '', 'three'].join(end))).toEqual([
      [3, 'A', 'one\ntwo'],
      [6, 'A', 'three'],
    ])
})

test('what is too long is cut at lines, sentences, words or anywhere, each piece with the line it begins in', () => {
  const lines = Array.from({ length: 12 }, (_, at) => `line ${at} ${'x'.repeat(90)}`)
  expect(passagesIn(lines.join('\n')).map(({ line }) => line)).toEqual([1, 6, 11])
  const sentence = `${'word '.repeat(70).trim()}.`
  const [first, second] = passagesIn(`${sentence} ${sentence}`)
  expect([first?.text, second?.text, second?.line]).toEqual([sentence, sentence, 1])
  expect(passagesIn('y'.repeat(1100)).map(({ text }) => text.length)).toEqual([500, 500, 100])
})

test.each([
  ['emoji', `x${'🙂'.repeat(2000)}`],
  ['writing without spaces', '発売日は五月です。'.repeat(300)],
  ['a title that never ends', `# ${'🙂'.repeat(3000)}\ntext`],
])('%s is never cut within a character, and no piece is too long', (_, text) => {
  const passages = passagesIn(text)
  expect(passages.every(({ text }) => text.isWellFormed() && text.length <= 500)).toBe(true)
  expect(passages.every(({ heading }) => heading === null || (heading.isWellFormed() && heading.length <= 120))).toBe(
    true,
  )
  expect(passages.map(({ text }) => text).join('').length).toBeGreaterThan(text.startsWith('#') ? 1 : text.length - 10)
})

test.each([
  '#'.repeat(2e6),
  '\n'.repeat(2e6),
  '```\n'.repeat(5e5),
  'a\n\n'.repeat(6e5),
  '# a\n'.repeat(5e5),
  '# '.repeat(1e6),
])('of two million odd characters there are at most 5000 passages', (text) => {
  expect(passagesIn(text).length).toBeLessThanOrEqual(5000)
})

test('a passage is told on one line, behind its heading', () => {
  expect(passageLine({ heading: 'Servers', text: 'port\n  8443' })).toBe('Servers: port 8443')
  expect(passageLine({ heading: null, text: 'port' })).toBe('port')
})
