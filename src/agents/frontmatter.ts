import { isMap, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { errorFinding, type Finding, noteFinding } from './finding.ts'
import { repairFields } from './repair-frontmatter.ts'

/** Parsed frontmatter and body of an agent file. */
export interface ParsedFrontmatter {
  fields: Map<string, unknown>
  /** Line number of each field. */
  lines: Map<string, number>
  body: string
  findings: Finding[]
}

const maxFrontmatterBytes = 32 * 1024
const maxDepth = 100
const maxAliases = 50
const fence = /^---[ \t]*$/

/**
 * Parses the frontmatter of an untrusted file: as YAML if valid, else field by field with repairs. Must not throw: unusable
 * frontmatter is a finding of level error.
 */
export function readFrontmatter(text: string): ParsedFrontmatter {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  const first = lines.findIndex((line) => line.trim() !== '')
  const start = lines[first]
  if (start === undefined)
    return unusable('the file is empty', 'write frontmatter and instructions: heddle agents new NAME')
  if (!fence.test(start)) return unusable('the file has no frontmatter', frontmatterRemedy, first + 1)
  const end = lines.findIndex((line, at) => at > first && fence.test(line))
  if (end === -1) return unusable('the frontmatter never ends', 'put a line with --- below the last field', first + 1)
  const head = lines.slice(first + 1, end)
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim()
  if (Buffer.byteLength(head.join('\n')) > maxFrontmatterBytes)
    return {
      ...unusable('the frontmatter is larger than 32 kB', 'move the text below the second ---', first + 1),
      body,
    }
  return { ...fieldsOf(head, first + 2), body }
}

const frontmatterRemedy = 'begin it with ---, name:, description:, tools:, --- on lines of their own'

function unusable(message: string, remedy: string, line = 1): ParsedFrontmatter {
  return { fields: new Map(), lines: new Map(), body: '', findings: [errorFinding(message, remedy, line)] }
}

function fieldsOf(head: readonly string[], firstLine: number): Omit<ParsedFrontmatter, 'body'> {
  const strict = parseYamlFields(head.join('\n'))
  if (strict.kind === 'refused') {
    const refusal = errorFinding('the frontmatter expands aliases (*name) or nests without end', 'write it out')
    return { fields: new Map(), lines: new Map(), findings: [{ ...refusal, line: firstLine }] }
  }
  if (strict.kind === 'fields') {
    const lines = new Map([...strict.lines].map(([key, line]) => [key, line + firstLine - 1]))
    const findings = strict.duplicates.map((key) =>
      noteFinding(`${key} appears twice: the last one is used`, 'remove one', lines.get(key)),
    )
    return { fields: strict.fields, lines, findings }
  }
  return repairFields(head, firstLine, (text) => {
    const parsed = parseYamlFields(text)
    return parsed.kind === 'fields' ? { fields: parsed.fields } : { why: parsed.kind === 'wrong' ? parsed.code : '' }
  })
}

type Parsed =
  | { kind: 'fields'; fields: Map<string, unknown>; lines: Map<string, number>; duplicates: string[] }
  /** Not YAML, or not a map. */
  | { kind: 'wrong'; code: string }
  /** Refused as an attack: too deep, or too many aliases. */
  | { kind: 'refused' }

function parseYamlFields(text: string): Parsed {
  if (isDeep(text)) return { kind: 'refused' }
  try {
    const counter = new LineCounter()
    const document = parseDocument(text, {
      version: '1.2',
      // The library's check is quadratic; duplicate top-level keys are found below.
      uniqueKeys: false,
      stringKeys: true,
      resolveKnownTags: false,
      prettyErrors: false,
      logLevel: 'error',
      lineCounter: counter,
    })
    const [problem] = document.errors
    if (problem) return { kind: 'wrong', code: problem.code }
    if (document.contents === null) return { kind: 'fields', fields: new Map(), lines: new Map(), duplicates: [] }
    if (!isMap(document.contents)) return { kind: 'wrong', code: '' }
    visit(document, {
      // 1.10 is a version, not 1.1.
      Scalar(_, node) {
        if (typeof node.value === 'number' && node.source && String(node.value) !== node.source)
          node.value = node.source
      },
    })
    const lines = new Map<string, number>()
    const duplicates: string[] = []
    for (const { key } of document.contents.items) {
      if (!isScalar(key)) continue
      const name = String(key.value)
      if (lines.has(name)) duplicates.push(name)
      lines.set(name, counter.linePos(key.range?.[0] ?? 0).line)
    }
    const data: Record<string, unknown> = document.toJS({ maxAliasCount: maxAliases })
    return { kind: 'fields', fields: new Map(Object.entries(data)), lines, duplicates }
  } catch (thrown) {
    // Too many aliases are a ReferenceError, endless depth a RangeError.
    if (thrown instanceof ReferenceError || thrown instanceof RangeError) return { kind: 'refused' }
    throw thrown
  }
}

/** Checked before parsing, since depth costs the parser quadratic time. */
function isDeep(text: string): boolean {
  let depth = 0
  for (const character of text) {
    if (character === '[' || character === '{') depth++
    if (character === ']' || character === '}') depth--
    if (depth > maxDepth) return true
  }
  return new RegExp(`(?:[-?:][ \\t]+){${maxDepth}}`).test(text)
}
