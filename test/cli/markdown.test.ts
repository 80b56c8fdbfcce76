import { expect, test } from 'vitest'
import { Markdown, markdown } from '../../src/cli/terminal/markdown.ts'
import { width, wrapText } from '../../src/cli/terminal/screen.ts'

const terminal = { columns: 40, rows: 24, isTerminal: true, color: true }
const colourless = { ...terminal, color: false }
const pipe = { ...terminal, columns: 80, isTerminal: false, color: false }

const text = [
  '## Ports',
  'The **api** listens on `8080`, the proxy on 443 and nothing else does.',
  '- one item that is longer than the screen is wide',
  '```ts',
  'const port = 8080 // **not bold**, and longer than a row',
  '```',
  'done',
].join('\n')

test('piped it stays the markdown that it is', () => {
  expect(markdown(pipe, text)).toBe(text)
})

test('on a terminal signs become colours, text breaks between words, and code only where the row ends', () => {
  expect(markdown(terminal, text).split('\n')).toEqual([
    '\u001b[1mPorts\u001b[22m',
    'The \u001b[1mapi\u001b[22m listens on \u001b[36m8080\u001b[39m, the proxy on',
    '443 and nothing else does.',
    '- one item that is longer than the',
    '  screen is wide',
    '    const port = 8080 // **not bold**, a',
    'nd longer than a row',
    'done',
  ])
})

test('without colour the signs stay, since nothing else can tell what they do', () => {
  const [title, words] = markdown(colourless, text).split('\n')
  expect([title, words]).toEqual(['## Ports', 'The **api** listens on `8080`, the'])
})

test('a line that is still growing changes nothing: the same line comes again, longer', () => {
  const lines = new Markdown(terminal)
  lines.line('```')
  expect(lines.peek('``')).toEqual(['    ``'])
  expect(lines.peek('```')).toEqual([])
  expect(lines.line('x')).toEqual(['    x'])
  lines.line('```')
  expect(lines.line('x')).toEqual(['x'])
})

test('nothing in a text gives orders to a terminal', () => {
  const evil = 'a\u001b[31mred\u001b]52;c;QQ\u0007 \u009b2J\r `\u001b]8;;http://x\u0007`\u202e'
  for (const screen of [terminal, colourless, pipe]) {
    const shown = markdown(screen, `${evil}\n\`\`\`\n${evil}\n\`\`\`\n# ${evil}\n- **${evil}**`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours are the only ones left
    expect(shown.replace(/\u001b\[(1|22|36|39)m/g, '')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  }
})

test('wide characters take two columns, and every row closes the colours that it opens', () => {
  const rows = wrapText(`\u001b[1m${'日本語'.repeat(10)}\u001b[22m🎉`, 15)
  expect(rows.map(width)).toEqual([14, 14, 14, 14, 6])
  for (const row of rows.slice(0, 4)) expect(row.startsWith('\u001b[1m') && row.endsWith('\u001b[22m')).toBe(true)
})
