import { hash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import type { Agent, AgentFormat, AgentSource, AgentStatus } from '../domain/agent.ts'
import { groupDigits } from '../domain/text/group-digits.ts'
import { nearest } from '../domain/text/nearest.ts'
import { escapeInvisible } from '../domain/text/visible.ts'
import { formatOf, isSkillFile } from './agent-format.ts'
import { agentName } from './agent-name.ts'
import { errorFinding, type Finding, noteFinding, warningFinding } from './finding.ts'
import { type ParsedFrontmatter, readFrontmatter } from './frontmatter.ts'
import { toolFields, toolList } from './tool-list.ts'
import { triggersOf } from './triggers.ts'

/** An agent file and its origin. */
export interface AgentFile {
  path: string
  source: AgentSource
  /** Format implied by its directory. */
  format?: AgentFormat
}

/** Names that an agent file may refer to. */
export interface KnownNames {
  /** Configured model names; if absent, every name is accepted. */
  models?: readonly string[]
  /** Additional tools. */
  tools?: readonly string[]
}

const limits = { bytes: 1024 * 1024, lines: 500, tokens: 5000, description: 1024 }
const bytesPerToken = 4
/** Shown for a missing description; never a line of the instructions, which only the agent may see. */
const noDescription = '(no description)'
const ownFields = ['name', 'description', 'triggers', 'model', ...toolFields]

/** Reads an agent from an untrusted file. Must not throw: every problem is a diagnostic. */
export function readAgent(bytes: Uint8Array, file: AgentFile, known: KnownNames = {}): Agent {
  const text = decode(bytes)
  if (typeof text !== 'string') return brokenAgent(file, text, hash('sha256', bytes))
  const head = readFrontmatter(text)
  const { fields, lines, body } = head
  const format = file.format ?? formatOf(file.path, fields)
  const name = nameIn(head, file)
  const description = descriptionIn(head)
  const { tools, ask, limits, findings: aboutTools } = toolList(fields, lines, known.tools)
  const model = modelIn(head, known.models)
  const triggers = triggersOf(fields, description.text)
  const isUnreadable = head.findings.some(({ level }) => level === 'error')
  // Unreadable frontmatter is the only problem worth reporting.
  const findings = isUnreadable
    ? head.findings
    : [
        ...head.findings,
        ...name.findings,
        ...description.findings,
        ...(triggers.length === 0 ? [noTriggers] : []),
        ...aboutTools,
        ...model.findings,
        ...aboutText(description.text, body, lines.get('description')),
      ]
  return {
    name: name.name,
    description: description.text,
    triggers,
    tools,
    ask,
    limits,
    model: model.name,
    body,
    path: file.path,
    format,
    source: file.source,
    hash: hash('sha256', bytes),
    status: agentStatus(findings),
    promptTokens: Math.ceil(Buffer.byteLength(body) / bytesPerToken),
    diagnostics: findings.sort(bySeverity).map((finding) => ({ ...finding, path: file.path })),
    extra: extraIn(fields, description.text),
  }
}

/** Fields without a counterpart here, and the full text of a shortened description. */
function extraIn(fields: ReadonlyMap<string, unknown>, description: string): Record<string, unknown> {
  const others = [...fields].filter(([field]) => !ownFields.includes(field))
  const whole = plainText(fields.get('description'))
  const isShortened = whole !== undefined && collapseSpaces(whole) !== description
  return Object.fromEntries(isShortened ? [...others, ['description', whole]] : others)
}

/** An agent whose file could not be read. */
export function brokenAgent({ path, source, format = 'heddle' }: AgentFile, finding: Finding, hash = ''): Agent {
  return {
    ...{ name: nameOfFile(path), description: '', triggers: [], tools: [], ask: [], limits: [], model: null, body: '' },
    ...{
      path,
      format,
      source,
      hash,
      status: 'broken',
      promptTokens: 0,
      diagnostics: [{ ...finding, path }],
      extra: {},
    },
  }
}

function agentStatus(findings: readonly Finding[]): AgentStatus {
  if (findings.some(({ level }) => level === 'error')) return 'broken'
  return findings.some(({ level }) => level === 'warning') ? 'degraded' : 'ready'
}

const severityOrder = { error: 0, warning: 1, note: 2 }

/** By severity, then by line. */
function bySeverity(a: Finding, b: Finding): number {
  return severityOrder[a.level] - severityOrder[b.level] || (a.line ?? 0) - (b.line ?? 0)
}

function decode(bytes: Uint8Array): string | Finding {
  if (bytes.length > limits.bytes)
    return errorFinding('the file is larger than 1 MB and was not read', 'make it smaller')
  const notText = errorFinding('the file is not UTF-8 text', 'save it as UTF-8, or give it another ending than .md')
  if (bytes.includes(0)) return notText
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return notText
  }
}

/** Default agent name from a file's path. */
function nameOfFile(path: string): string {
  const written = writtenPlace(path)
  const verdict = agentName(written)
  return verdict.ok ? verdict.name : escapeInvisible(written)
}

/** Name of the file, or of the folder of a SKILL.md. */
function writtenPlace(path: string): string {
  return isSkillFile(path) ? basename(dirname(path)) : basename(path).replace(/(?:\.agent)?\.md$/i, '')
}

function nameIn({ fields, lines }: ParsedFrontmatter, { path }: AgentFile): { name: string; findings: Finding[] } {
  const line = lines.get('name')
  const ofFile = nameOfFile(path)
  const what = isSkillFile(path) ? 'folder' : 'file'
  const written = plainText(fields.get('name'))
  const verdict = agentName(written ?? ofFile)
  if (!verdict.ok)
    return { name: escapeInvisible(written ?? ofFile), findings: [errorFinding(verdict.why, verdict.remedy, line)] }
  const { name } = verdict
  if (written === undefined) {
    const place = writtenPlace(path)
    const from = place === name ? `is its ${what}'s` : `is made from its ${what} "${escapeInvisible(place)}"`
    return { name, findings: [noteFinding(`it has no name: ${name} ${from}`, `add name: ${name}`)] }
  }
  const findings: Finding[] = []
  if (verdict.changed)
    findings.push(
      noteFinding(`the name "${escapeInvisible(written)}" was changed to ${name}`, `write name: ${name}`, line),
    )
  if (name !== ofFile)
    findings.push(noteFinding(`it is called ${name}, its ${what} ${ofFile}`, `rename the ${what} or the agent`, line))
  return { name, findings }
}

const noTriggers = noteFinding(
  'it has no triggers: only its description says when to use it',
  'add triggers: [words, that suggest it]',
)

function descriptionIn({ fields, lines, body }: ParsedFrontmatter): { text: string; findings: Finding[] } {
  const line = lines.get('description')
  const written = collapseSpaces(withoutExamples(plainText(fields.get('description')) ?? ''))
  if (written !== '') return { text: written, findings: [] }
  const remedy = 'add description: and one sentence that says what it does and when to use it'
  const severity = body.trim() === '' ? errorFinding : warningFinding
  const finding = severity(`it has no description: the coordinator sees "${noDescription}"`, remedy, line)
  return { text: noDescription, findings: [finding] }
}

/** An unknown model is an error: work must not silently go to another model. */
function modelIn(
  { fields, lines }: ParsedFrontmatter,
  models: readonly string[] | undefined,
): { name: string | null; findings: Finding[] } {
  const requested = [fields.get('model')].flat().flatMap((each) => plainText(each) ?? [])
  const [first] = requested
  if (first === undefined || first === 'inherit') return { name: null, findings: [] }
  const found = models === undefined ? first : requested.find((each) => models.includes(each))
  if (found !== undefined) return { name: found, findings: [] }
  const close = nearest(first, models ?? [])
  const add = `remove the line model:, or add a model of that name: heddle models add --name ${first}`
  const remedy = close ? `did you mean ${close}?` : add
  return {
    name: null,
    findings: [errorFinding(`there is no model ${first} in heddle.yaml`, remedy, lines.get('model'))],
  }
}

function aboutText(description: string, body: string, line: number | undefined): Finding[] {
  const findings: Finding[] = []
  if (body === '')
    findings.push(warningFinding('it has no instructions', 'write below the second --- what it should do'))
  if (description.length > limits.description)
    findings.push(noteFinding('the description has more than 1,024 characters', 'say it in one sentence', line))
  const lines = body.split('\n').length
  const tokens = Math.ceil(Buffer.byteLength(body) / bytesPerToken)
  if (lines > limits.lines || tokens > limits.tokens) {
    const long = `the instructions are long: ${figure(lines)} lines, about ${figure(tokens)} tokens`
    findings.push(noteFinding(long, 'move what it rarely needs into files that it can read'))
  }
  const hidden = hiddenIn(description) + hiddenIn(body)
  if (hidden > 0)
    findings.push(
      warningFinding(`it has ${figure(hidden)} invisible characters`, 'remove them: the model would read them'),
    )
  if (/(?:^|\s)!`[^`]+`/.test(body))
    findings.push(
      noteFinding('commands in its text, !`…`, are not run: it reads them as text', 'let it run them with exec'),
    )
  return findings
}

/** Counts invisible characters, except emoji modifiers. */
function hiddenIn(text: string): number {
  const bare = text.replaceAll(/[\ufe0e\ufe0f]|(?<=\p{Extended_Pictographic}\S?)\u200d/gu, '')
  return (
    [...escapeInvisible(bare).matchAll(/\\u\{[0-9a-f]+\}/g)].length - [...bare.matchAll(/\\u\{[0-9a-f]+\}/g)].length
  )
}

function plainText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim()
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return plainText(value.join(' '))
  return undefined
}

/** Drops example conversations from a description; `extra` keeps them. */
function withoutExamples(text: string): string {
  return text.replaceAll('\\n', ' ').replace(/\s*(?:\bExamples?\s*(?:usage)?\s*:?)?\s*<example>[\s\S]*$/i, '')
}

function collapseSpaces(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function figure(count: number): string {
  return groupDigits(count)
}
