import { type Finding, noteFinding, warningFinding } from './finding.ts'

/** Parses a piece of YAML; `why` is YAML's own error code. */
type Parse = (text: string) => { fields: Map<string, unknown> } | { why: string }

/** A field with the lines that belong to it. */
interface Block {
  key: string
  rest: string
  /** Lines below its first one. */
  more: string[]
  line: number
}

const fieldLine = /^(["']?)([A-Za-z_$][\w.$ -]*?)\1[ \t]*:(?:[ \t]+(.*))?$/

/** Parses invalid frontmatter field by field, with repairs and a finding for each. */
export function repairFields(head: readonly string[], firstLine: number, parse: Parse) {
  const fields = new Map<string, unknown>()
  const lines = new Map<string, number>()
  const { blocks, findings } = blocksOf(dedent(head), firstLine)
  for (const block of blocks) {
    const { value, finding } = readBlock(block, parse)
    fields.set(block.key, value)
    lines.set(block.key, block.line)
    if (finding) findings.push(finding)
  }
  return { fields, lines, findings }
}

function blocksOf(head: readonly string[], firstLine: number): { blocks: Block[]; findings: Finding[] } {
  const blocks: Block[] = []
  const findings: Finding[] = []
  for (const [at, line] of head.entries()) {
    const [, , key, rest = ''] = fieldLine.exec(line) ?? []
    const last = blocks.at(-1)
    if (key !== undefined && !(last && isProse(key, last)))
      blocks.push({ key, rest: rest.trim(), more: [], line: firstLine + at })
    else if (last && !line.startsWith('#')) last.more.push(line)
    else if (line.trim() !== '' && !line.startsWith('#'))
      findings.push(
        warningFinding('the line is not a field and was left out', 'write it as name: value', firstLine + at),
      )
  }
  return { blocks, findings }
}

/** Descriptions contain "Examples:" and dialogue such as "user: …", which are not fields. */
function isProse(key: string, { key: before, rest, more }: Block): boolean {
  if (before !== 'description') return false
  const text = [rest, ...more].join('\n')
  return /^[A-Z]/.test(key) || text.lastIndexOf('<example>') > text.lastIndexOf('</example>')
}

function readBlock(block: Block, parse: Parse): { value: unknown; finding?: Finding } {
  const { key, rest, more, line } = block
  const first = `field: ${rest}`
  let why = ''
  for (const lines of spellingsOf(more)) {
    const parsed = parse([first, ...lines].join('\n'))
    if ('why' in parsed) why ||= parsed.why
    else if (lines === more) return { value: parsed.fields.get('field') ?? null }
    else
      return {
        value: parsed.fields.get('field'),
        finding: noteFinding(`${key} was indented again`, 'use spaces', line),
      }
  }
  const inner = more.filter((each) => each.trim() !== '' && !each.trim().startsWith('#'))
  if (rest === '' && inner.every((each) => /^\s*-(?:\s|$)/.test(each))) {
    const items = inner.map((each) => unquote(each.trim().slice(1).trim()))
    return { value: items, finding: noteFinding(`${key} was read as a list of texts`, 'put the items in quotes', line) }
  }
  if (rest === '' && inner.length > 0 && inner.every((each) => /^\s+[\w$.-]+:(?:\s|$)/.test(each))) {
    const entries = inner.map((each) => {
      const [, name = '', text = ''] = /^\s+([\w$.-]+):\s*(.*)$/.exec(each) ?? []
      return [name, unquote(text.trim())]
    })
    const finding = warningFinding(`${key} was read line by line, without its nesting`, 'make it valid YAML', line)
    return { value: Object.fromEntries(entries), finding }
  }
  const text = unquote([rest.replace(/^[|>][+-]?$/, ''), ...inner.map((each) => each.trim())].join(' ').trim())
  const finding = noteFinding(
    `${key} ${reasons.get(why) ?? 'is not valid YAML'}; it was read as text`,
    quotes(key),
    line,
  )
  return { value: text, finding }
}

/** The lines unchanged, and with tabs replaced and more indentation. */
function* spellingsOf(more: string[]): Iterable<string[]> {
  yield more
  if (more.length === 0) return
  yield more.map((line) => `  ${line.replace(/^[ \t]+/, (space) => space.replaceAll('\t', '  '))}`)
}

const reasons = new Map(
  Object.entries({
    BLOCK_AS_IMPLICIT_KEY: 'has ": " in a text without quotes',
    BAD_ALIAS: 'begins with *, which means something else in YAML',
    TAB_AS_INDENT: 'is indented with tabs',
    BAD_INDENT: 'has an indentation that YAML does not allow',
    MISSING_CHAR: 'has a quote or bracket that does not end',
    UNEXPECTED_TOKEN: 'goes on after its closing quote or bracket',
    BAD_SCALAR_START: 'begins with a character that means something else in YAML',
    MULTILINE_IMPLICIT_KEY: 'has ": " in a text without quotes',
  }),
)

function quotes(key: string): string {
  return `put it in quotes, as in ${key}: "…", or write ${key}: > and the text indented below`
}

/** Removes surrounding quotes; those inside may be why it could not be parsed. */
function unquote(text: string): string {
  const [, , inner] = /^(["'])(.*)\1$/s.exec(text) ?? []
  return inner ?? text
}

function dedent(head: readonly string[]): string[] {
  const first = head.find((line) => line.trim() !== '' && !line.trim().startsWith('#'))
  const space = /^[ \t]*/.exec(first ?? '')?.[0] ?? ''
  return head.map((line) => (line.startsWith(space) ? line.slice(space.length) : line))
}
