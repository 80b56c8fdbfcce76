import {
  Composer,
  CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  YAMLParseError,
} from 'yaml'
import type { ConfigPath } from './path.ts'
import { yamlSentence } from './yaml-sentence.ts'

/** Parsed YAML with all its problems. */
export interface ParsedYaml {
  /** Plain data; undefined if the text could not be parsed. */
  value: unknown
  problems: YamlProblem[]
  /** Line of the deepest part of the path that exists. */
  lineOf(path: ConfigPath): number
  /** With `${` and `}` masked: see `mask`. Absent if a limit was exceeded. */
  document?: Document.Parsed
}

interface YamlProblem {
  line: number
  message: string
  remedy: string
}

const maxBytes = 1024 * 1024
const maxDepth = 200
const maxAliases = 100
/** Checking keys for duplicates takes quadratic time: 4,000 keys are quick, 40,000 would take half a minute. */
const maxTokens = 20_000
/** Names through which data could reach JavaScript's own objects. */
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype'])

/** Parses untrusted YAML: checks limits before parsing. Must not throw. */
export function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter()
  const read = readTokens(text, lines)
  if (!Array.isArray(read)) return { value: undefined, problems: [read], lineOf: () => read.line }
  const document = composeDocument(read, lines, text.length)
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line)
  const lineOf = (path: ConfigPath) => lineAt(offsetOf(document, path))
  const problems = [...document.errors, ...document.warnings].map(({ code, pos }) => ({
    line: lineAt(pos[0]),
    ...yamlSentence(code, text, pos[0], lineAt(pos[0])),
  }))
  // One mistake confuses the parser for the rest of the line; only the first message helps.
  const perLine = problems.filter(({ line }, index) => problems.findIndex((other) => other.line === line) === index)
  if (perLine.length > 0) return { value: undefined, problems: perLine, lineOf, document }
  return { ...plainData(document, lineOf), lineOf, document }
}

/**
 * Turns `${NAME}` into an ordinary word of the same length: in `{ apiKey: ${KEY} }` YAML would take its braces as its own.
 * The two code points are Unicode noncharacters, and a text that has them is refused.
 */
function mask(text: string): string {
  return text.replaceAll(/\$\{([^{}\n]*)\}/g, '$\ufdd0$1\ufdd1')
}

/** Reverses `mask`. */
export function unmask(text: string): string {
  return text.replaceAll('\ufdd0', '{').replaceAll('\ufdd1', '}')
}

/** The tokens of a text that is within all limits; a document is composed only of these. */
function readTokens(text: string, lines: LineCounter): CST.Token[] | YamlProblem {
  const refuse = (message: string, remedy: string): YamlProblem => ({ line: 1, message, remedy })
  if (Buffer.byteLength(text) > maxBytes) return refuse('the file is larger than 1 MB', 'make the file smaller')
  if (/[\ufdd0\ufdd1]/.test(text)) {
    return refuse('the file has the code point U+FDD0 or U+FDD1', 'remove it: it is not a character')
  }
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  const tokens: CST.Token[] = []
  let lexemes = 0
  for (const lexeme of new Lexer().lex(mask(text))) {
    if (++lexemes > maxTokens) return refuse('the file has too many entries', 'make the file smaller')
    tokens.push(...parser.next(lexeme))
  }
  tokens.push(...parser.end())
  if (tokens.some((token) => isDeeper(token, maxDepth)))
    return refuse(`the file is nested deeper than ${maxDepth} levels`, 'nest less deeply')
  return tokens
}

/** As `parseDocument` of the library does, which would read the text once more. */
function composeDocument(tokens: CST.Token[], lineCounter: LineCounter, length: number): Document.Parsed {
  const composer = new Composer({
    version: '1.2',
    strict: true,
    uniqueKeys: true,
    stringKeys: true,
    resolveKnownTags: false,
    // The default messages quote the source, and the source may hold keys.
    prettyErrors: false,
    logLevel: 'error',
    lineCounter,
  })
  const [document, second] = composer.compose(tokens, true, length)
  if (!document) throw new Error('YAML without a document')
  if (second)
    document.errors.push(new YAMLParseError([second.range[0], second.range[1]], 'MULTIPLE_DOCS', 'two documents'))
  return document
}

/** Iterative, since it defends against deep nesting. */
function isDeeper(root: CST.Token, limit: number): boolean {
  const waiting: [CST.Token, number][] = [[root, 0]]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [token, depth] = next
    if (depth > limit) return true
    if (token.type === 'document' && token.value) waiting.push([token.value, depth])
    if (!CST.isCollection(token)) continue
    for (const { key, value } of token.items) {
      if (key) waiting.push([key, depth + 1])
      if (value) waiting.push([value, depth + 1])
    }
  }
  return false
}

function plainData(document: Document.Parsed, lineOf: (path: ConfigPath) => number) {
  const problems: YamlProblem[] = []
  const copy = (value: unknown, path: ConfigPath): unknown => {
    // An alias may point at its own parent, so data can be deeper than its text.
    if (path.length > maxDepth) throw new RangeError('too deep')
    if (typeof value === 'string') return unmask(value)
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index]))
    if (value === null || typeof value !== 'object') return value
    const section: Record<string, unknown> = {}
    for (const [masked, inner] of Object.entries(value)) {
      const key = unmask(masked)
      const line = lineOf([...path, key])
      if (forbiddenKeys.has(key)) {
        problems.push({ line, message: `the key \`${key}\` at line ${line} is not allowed`, remedy: 'remove the line' })
      } else section[key] = copy(inner, [...path, key])
    }
    return section
  }
  try {
    return { value: copy(document.toJS({ maxAliasCount: maxAliases }), []), problems }
  } catch (error) {
    // Both mean the same to the writer of the file: aliases (`*name`) that multiply or contain themselves.
    if (!(error instanceof ReferenceError || error instanceof RangeError)) throw error
    const message = 'the file repeats parts of itself by aliases (`*name`) without end'
    return { value: undefined, problems: [{ line: 1, message, remedy: 'write the values out' }] }
  }
}

function offsetOf(document: Document.Parsed, path: ConfigPath): number {
  let node: unknown = document.contents
  let offset = 0
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && unmask(String(key.value)) === String(part))
      if (!pair) return offset
      offset = (isScalar(pair.key) && pair.key.range?.[0]) || offset
      node = pair.value
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(part)]
      offset = (isScalar(item) || isMap(item) || isSeq(item) || isAlias(item)) && item.range ? item.range[0] : offset
      node = item
    } else return offset
  }
  return offset
}
