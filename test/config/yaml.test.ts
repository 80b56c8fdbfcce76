// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are written this way
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { configProblems } from '../../src/config/config.ts'
import { parseYaml } from '../../src/config/yaml.ts'

const messages = (text: string) => configProblems(text, {}).map(({ message }) => message)

describe('a text that would cost too much is refused before it is decoded', () => {
  test('an alias bomb', () => {
    const levels = Array.from({ length: 9 }, (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level},`.repeat(9)}]`)
    expect(messages(`a0: &a0 [x, x]\n${levels.join('\n')}\n`)).toEqual([
      'the file repeats parts of itself by aliases (`*name`) without end',
    ])
  })

  test.each(['skills: &s [*s]\n', 'skills: &s [*s, *s]\n', '&all\nagents: *all\n'])(
    'an alias that contains itself: %j',
    (text) => {
      expect(messages(text)).toEqual(['the file repeats parts of itself by aliases (`*name`) without end'])
    },
  )

  test.each([
    ['open brackets', '['.repeat(250)],
    ['closed brackets', `a: ${'['.repeat(250)}${']'.repeat(250)}`],
    ['braces', '{a: '.repeat(250)],
    ['dashes', '- '.repeat(250)],
    ['question marks', '? '.repeat(250)],
    ['indentation', Array.from({ length: 250 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])('deep nesting by %s', (_, text) => {
    expect(messages(text)).toEqual(['the file is nested deeper than 200 levels'])
  })

  test.each([
    ['question marks, which would take the parser minutes', '? '.repeat(300_000)],
    ['brackets', '['.repeat(300_000)],
    ['keys, which would be compared pair by pair', Array.from({ length: 50_000 }, (_, i) => `k${i}: 1`).join('\n')],
  ])('a great many %s', (_, text) => {
    expect(messages(text)).toEqual(['the file has too many entries'])
  })

  test('more than 1 MB', () => {
    expect(messages(`# ${'x'.repeat(1024 * 1024)}`)).toEqual(['the file is larger than 1 MB'])
  })
})

test('nesting up to the limit is read', () => {
  expect(parseYaml(`${'['.repeat(200)}${']'.repeat(200)}`).problems).toEqual([])
})

test.each([
  ['name: a\nplans: ask\nname: b\n', 'the key `name` at line 3 appears twice'],
  ['agents: { maxConcurrent: 1, maxConcurrent: 2 }', 'the key `maxConcurrent` at line 1 appears twice'],
  ['a:\n\tb: 1', 'line 2: the line is indented with a tab'],
  ['agent:\n  default: @coordinator\n', 'line 2: a value starts with `@`, `%` or a backtick'],
  ['tools:\n  allow: *\n', 'line 2: a value starts with `*`, which YAML keeps for aliases'],
  ['name: "open\n', 'line 2: a quote, bracket, comma or `:` is missing'],
  ['name: a: b\n', 'line 1: a line has two keys'],
  ['name: a\n---\nname: b\n', 'line 2: a second document starts here'],
  ['name: !!js/function x\n', 'line 1: a value has a tag (`!…`) that is not used here'],
  ['name: !!binary aGk=\n', 'line 1: a value has a tag (`!…`) that is not used here'],
  ['? [a, b]\n: c\n', 'line 1: a key is not a name'],
  ['agents:\n  maxConcurrent: 1\n defaultTimeout: 2\n', 'line 3: the indentation does not fit the lines above'],
  ['name: a\ufdd0b\n', 'the file has the code point U+FDD0 or U+FDD1'],
])('%j is explained in plain words', (text, message) => {
  expect(messages(text)).toEqual([message])
})

describe('names that reach into JavaScript itself', () => {
  test.each(['__proto__', 'constructor', 'prototype'])('%s is refused wherever it stands', (name) => {
    expect(messages(`${name}: { polluted: true }`)).toEqual([`the key \`${name}\` at line 1 is not allowed`])
    expect(messages(`agents:\n  "${name}": 1`)).toEqual([`the key \`${name}\` at line 2 is not allowed`])
    expect(messages(`models:\n  ${name}: { provider: openai, model: m }`)).toEqual([
      `the key \`${name}\` at line 2 is not allowed`,
    ])
  })

  test('whatever the keys are, no object in the program changes', () => {
    const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'prototype', 'agents', 'models'), fc.string())
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(fc.constant(1), fc.dictionary(key, tie('node'), { noNullPrototype: false })),
    })).node
    fc.assert(
      fc.property(tree, (data) => {
        configProblems(JSON.stringify(data), {})
        expect(Object.keys(Object.prototype)).toEqual([])
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
      }),
    )
  })
})

test('any text is answered with data or with problems, never with a crash', () => {
  const piece = fc.constantFrom(...'{}[]:,-?*&!|>"\'#%@` \n\tab1$~'.split(''), '${A}', '<<: ', '--- ', 'agents:')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      for (const { line, message, remedy } of configProblems(pieces.join(''), { A: 'a' })) {
        expect(line).toBeGreaterThan(0)
        expect(message).not.toMatch(/undefined|\[object|Invalid input/)
        expect(remedy).not.toBe('')
      }
    }),
    { numRuns: 500 },
  )
})
