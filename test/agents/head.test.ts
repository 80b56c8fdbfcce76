import { describe, expect, test } from 'vitest'
import { readFrontmatter } from '../../src/agents/frontmatter.ts'

function fields(head: string): Record<string, unknown> {
  return Object.fromEntries(readFrontmatter(`---\n${head}\n---\nbody`).fields)
}

function findings(head: string): string[] {
  return readFrontmatter(`---\n${head}\n---\nbody`).findings.map(
    ({ level, line, message }) => `${level} ${line}: ${message}`,
  )
}

describe('a head that is not YAML is read as it was meant', () => {
  test('a text with ": " in it, the most common slip', () => {
    const head = 'name: a\ndescription: Use it for: tests, mostly\ntools: Read'
    expect(fields(head)).toEqual({ name: 'a', description: 'Use it for: tests, mostly', tools: 'Read' })
    expect(findings(head)).toEqual(['note 3: description has ": " in a text without quotes; it was read as text'])
  })

  test('every finding names a remedy', () => {
    const [finding] = readFrontmatter('---\ndescription: a: b\n---\n').findings
    expect(finding?.remedy).toContain('description: "…"')
  })

  test.each([
    ['brackets in a row', 'argument-hint: [file] [line]', { 'argument-hint': '[file] [line]' }],
    ['an asterisk', 'description: *important* words', { description: '*important* words' }],
    ['an at sign', 'description: @someone', { description: '@someone' }],
    ['a backtick', 'description: `run` it', { description: '`run` it' }],
    ['quotes inside quotes', 'description: "say "hello" now"', { description: 'say "hello" now' }],
    ['an open quote', 'description: "never ends', { description: '"never ends' }],
    ['a percent sign', 'description: %done', { description: '%done' }],
    [
      'several lines',
      'description: first: one\n  second: two\n  and more',
      { description: 'first: one second: two and more' },
    ],
    ['lines that are not indented', 'description: first: one\nand more', { description: 'first: one and more' }],
  ])('%s', (_, broken, expected) => {
    expect(fields(`name: a\n${broken}\nmodel: x`)).toEqual({ name: 'a', ...expected, model: 'x' })
    expect(findings(`name: a\n${broken}\nmodel: x`)).toHaveLength(1)
  })

  test('tabs', () => {
    expect(fields('name: a\nmetadata:\n\tauthor: b\n\ttags:\n\t\t- c')).toEqual({
      name: 'a',
      metadata: { author: 'b', tags: ['c'] },
    })
  })

  test('one field that is broken leaves the structure of the others alone', () => {
    expect(fields('tools:\n  - Read\n  - Bash(git:*)\ndescription: a: b\nmetadata: {"x": {"y": 1}}')).toEqual({
      tools: ['Read', 'Bash(git:*)'],
      description: 'a: b',
      metadata: { x: { y: 1 } },
    })
  })

  test('JSON over several lines, also where it is not indented', () => {
    const metadata = { openclaw: { emoji: 'x', requires: { bins: ['a'] } } }
    expect(fields(`description: a: b\nmetadata:\n${JSON.stringify(metadata, null, 2)}`)).toMatchObject({ metadata })
  })

  test('a list whose items are no YAML', () => {
    expect(fields('triggers:\n  - do: this: now\n  - *star\nname: a')).toEqual({
      triggers: ['do: this: now', '*star'],
      name: 'a',
    })
  })

  test('a section is read line by line, and that is a warning', () => {
    const head = 'metadata:\n  one: a: b\n  two: c\nname: a'
    expect(fields(head)).toEqual({ metadata: { one: 'a: b', two: 'c' }, name: 'a' })
    expect(findings(head)[0]).toMatch(/^warning 2: metadata was read line by line/)
  })

  test('a line that is no field is left out, with a word', () => {
    expect(findings('what is this\nname: a\ndescription: b: c')[0]).toBe(
      'warning 2: the line is not a field and was left out',
    )
  })

  test('fields that stand there twice', () => {
    expect(fields('name: a\nname: b')).toEqual({ name: 'b' })
    expect(findings('name: a\nname: b')).toEqual(['note 3: name appears twice: the last one is used'])
  })

  test('line ends of Windows and a mark at the beginning', () => {
    const { fields, body, findings } = readFrontmatter(
      '\ufeff---\r\nname: a\r\ndescription: b\r\n---\r\n\r\nbody\r\nmore\r\n',
    )
    expect([Object.fromEntries(fields), body, findings]).toEqual([{ name: 'a', description: 'b' }, 'body\nmore', []])
  })
})

describe('a head that cannot be used', () => {
  test.each([
    ['', 'the file is empty'],
    ['\n\n', 'the file is empty'],
    ['# Title\n', 'the file has no frontmatter'],
    ['+++\nname = "a"\n+++\n', 'the file has no frontmatter'],
    ['---\nname: a\n', 'the frontmatter never ends'],
    [['---', `name: ${'a'.repeat(40_000)}`, '---'].join('\n'), 'the frontmatter is larger than 32 kB'],
  ])('%.20j', (text, message) => {
    expect(readFrontmatter(text).findings).toMatchObject([{ level: 'error', message, remedy: expect.any(String) }])
  })

  test('aliases that multiply are refused at once', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    for (let at = 1; at < 12; at++) lines.push(`a${at}: &a${at} [${`*a${at - 1}, `.repeat(9)}]`)
    expect(findings(lines.join('\n'))).toEqual([
      'error 2: the frontmatter expands aliases (*name) or nests without end',
    ])
  })

  test.each([
    ['brackets', '['.repeat(30_000)],
    ['brackets that close', `${'['.repeat(15_000)}${']'.repeat(15_000)}`],
    ['braces', '{a: '.repeat(7000)],
    ['lists in lists', `\n${'- '.repeat(15_000)}x`],
  ])('nesting without end is refused, not a crash: %s', (_, value) => {
    expect(findings(`a: ${value}`)).toEqual(['error 2: the frontmatter expands aliases (*name) or nests without end'])
  })

  test('thousands of fields are read', () => {
    const head = Array.from({ length: 4000 }, (_, at) => `k${at}: 1`)
      .join('\n')
      .slice(0, 32_000)
    expect(readFrontmatter(`---\n${head}\n---\n`).fields.size).toBeGreaterThan(3000)
  })
})
