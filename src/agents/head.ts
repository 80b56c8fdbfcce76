import { isMap, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { error, type Finding, note } from './finding.ts'
import { mendedFields } from './mended-fields.ts'

/** What a file says above and below the second `---`. */
export interface HeadAndBody {
  fields: Map<string, unknown>
  /** Lines of the file, by field. */
  lines: Map<string, number>
  body: string
  findings: Finding[]
}

const maxHeadBytes = 32 * 1024
const maxDepth = 100
const maxAliases = 50
const fence = /^---[ \t]*$/

/**
 * Reads the head of a file that anybody may have written: as YAML if it is, else field by field as it was probably
 * meant. Must not throw; a head that cannot be used is a finding of level error.
 */
export function readHead(text: string): HeadAndBody {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  const first = lines.findIndex((line) => line.trim() !== '')
  const start = lines[first]
  if (start === undefined) return unusable('the file is empty', 'write a head and instructions: heddle agents new NAME')
  if (!fence.test(start)) return unusable('the file has no head', headRemedy, first + 1)
  const end = lines.findIndex((line, at) => at > first && fence.test(line))
  if (end === -1) return unusable('the head never ends', 'put a line with --- below the last field', first + 1)
  const head = lines.slice(first + 1, end)
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim()
  if (Buffer.byteLength(head.join('\n')) > maxHeadBytes)
    return { ...unusable('the head is larger than 32 kB', 'move the text below the second ---', first + 1), body }
  return { ...fieldsOf(head, first + 2), body }
}

const headRemedy = 'begin it with ---, name:, description:, tools:, --- on lines of their own'

function unusable(message: string, remedy: string, line = 1): HeadAndBody {
  return { fields: new Map(), lines: new Map(), body: '', findings: [error(message, remedy, line)] }
}

function fieldsOf(head: readonly string[], firstLine: number): Omit<HeadAndBody, 'body'> {
  const strict = parseFields(head.join('\n'))
  if (strict.kind === 'refused') {
    const refusal = error('the head repeats parts of itself by aliases (*name) or nests without end', 'write it out')
    return { fields: new Map(), lines: new Map(), findings: [{ ...refusal, line: firstLine }] }
  }
  if (strict.kind === 'fields') {
    const lines = new Map([...strict.lines].map(([key, line]) => [key, line + firstLine - 1]))
    const findings = strict.twice.map((key) =>
      note(`${key} stands there twice: the last one counts`, 'remove one', lines.get(key)),
    )
    return { fields: strict.fields, lines, findings }
  }
  return mendedFields(head, firstLine, (text) => {
    const parsed = parseFields(text)
    return parsed.kind === 'fields' ? { fields: parsed.fields } : { why: parsed.kind === 'wrong' ? parsed.code : '' }
  })
}

type Parsed =
  | { kind: 'fields'; fields: Map<string, unknown>; lines: Map<string, number>; twice: string[] }
  /** Not YAML, or not fields with values. */
  | { kind: 'wrong'; code: string }
  /** More than anybody writes by hand. */
  | { kind: 'refused' }

function parseFields(text: string): Parsed {
  if (isDeep(text)) return { kind: 'refused' }
  try {
    const counter = new LineCounter()
    const document = parseDocument(text, {
      version: '1.2',
      // Comparing every key with every other one is quadratic; twins on top are found below.
      uniqueKeys: false,
      stringKeys: true,
      resolveKnownTags: false,
      prettyErrors: false,
      logLevel: 'error',
      lineCounter: counter,
    })
    const [problem] = document.errors
    if (problem) return { kind: 'wrong', code: problem.code }
    if (document.contents === null) return { kind: 'fields', fields: new Map(), lines: new Map(), twice: [] }
    if (!isMap(document.contents)) return { kind: 'wrong', code: '' }
    visit(document, {
      // 1.10 is a version, not 1.1.
      Scalar(_, node) {
        if (typeof node.value === 'number' && node.source && String(node.value) !== node.source)
          node.value = node.source
      },
    })
    const lines = new Map<string, number>()
    const twice: string[] = []
    for (const { key } of document.contents.items) {
      if (!isScalar(key)) continue
      const name = String(key.value)
      if (lines.has(name)) twice.push(name)
      lines.set(name, counter.linePos(key.range?.[0] ?? 0).line)
    }
    const data: Record<string, unknown> = document.toJS({ maxAliasCount: maxAliases })
    return { kind: 'fields', fields: new Map(Object.entries(data)), lines, twice }
  } catch (thrown) {
    // Aliases that multiply are a ReferenceError, depth without end a RangeError.
    if (thrown instanceof ReferenceError || thrown instanceof RangeError) return { kind: 'refused' }
    throw thrown
  }
}

/** Depth takes the parser quadratic time, so it is looked for before. */
function isDeep(text: string): boolean {
  let depth = 0
  for (const character of text) {
    if (character === '[' || character === '{') depth++
    if (character === ']' || character === '}') depth--
    if (depth > maxDepth) return true
  }
  return new RegExp(`(?:[-?:][ \\t]+){${maxDepth}}`).test(text)
}
