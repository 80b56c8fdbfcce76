import { createHash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import type { Agent, AgentFormat, AgentSource, AgentStatus } from '../domain/agent.ts'
import { nearest } from '../domain/nearest.ts'
import { visible } from '../domain/visible.ts'
import { formatOf, isSkillFile } from './agent-format.ts'
import { agentName } from './agent-name.ts'
import { error, type Finding, note, warning } from './finding.ts'
import { type HeadAndBody, readHead } from './head.ts'
import { toolFields, toolList } from './tool-list.ts'
import { triggersOf } from './triggers.ts'

/** A file that says who an agent is, and where it was found. */
export interface AgentFile {
  path: string
  source: AgentSource
  /** What its directory says it is. */
  format?: AgentFormat
}

/** What a file may refer to. */
export interface Known {
  /** Names of the owner's models; without them every name is taken as it is. */
  models?: readonly string[]
  /** Tools besides ours. */
  tools?: readonly string[]
}

const most = { bytes: 1024 * 1024, lines: 500, tokens: 5000, description: 1024 }
const bytesPerToken = 4
/** Stands where lists show a description; no line of the instructions may, since those are for the agent alone. */
const noDescription = '(no description)'
const ownFields = ['name', 'description', 'triggers', 'model', ...toolFields]

/** Reads an agent from a file that anybody may have written. Must not throw: whatever is wrong is a diagnostic. */
export function readAgent(bytes: Uint8Array, file: AgentFile, known: Known = {}): Agent {
  const text = textOf(bytes)
  if (typeof text !== 'string') return brokenAgent(file, text, hashOf(bytes))
  const head = readHead(text)
  const { fields, lines, body } = head
  const format = file.format ?? formatOf(file.path, fields)
  const name = nameIn(head, file)
  const description = descriptionIn(head)
  const { tools, ask, limits, findings: aboutTools } = toolList(fields, lines, known.tools)
  const model = modelIn(head, known.models)
  const triggers = triggersOf(fields, description.text)
  const isUnread = head.findings.some(({ level }) => level === 'error')
  // Of a head that cannot be read nothing is missing: everything is.
  const findings = isUnread
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
    hash: hashOf(bytes),
    status: statusOf(findings),
    promptTokens: Math.ceil(Buffer.byteLength(body) / bytesPerToken),
    diagnostics: findings.sort(byWeight).map((finding) => ({ ...finding, path: file.path })),
    extra: extraIn(fields, description.text),
  }
}

/** What no field of ours holds; of a description that was shortened, all of it. */
function extraIn(fields: ReadonlyMap<string, unknown>, description: string): Record<string, unknown> {
  const others = [...fields].filter(([field]) => !ownFields.includes(field))
  const whole = plainText(fields.get('description'))
  const isShortened = whole !== undefined && oneLine(whole) !== description
  return Object.fromEntries(isShortened ? [...others, ['description', whole]] : others)
}

/** A file of which nothing could be read. */
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

function statusOf(findings: readonly Finding[]): AgentStatus {
  if (findings.some(({ level }) => level === 'error')) return 'broken'
  return findings.some(({ level }) => level === 'warning') ? 'degraded' : 'ready'
}

const weights = { error: 0, warning: 1, note: 2 }

/** What matters most first, then from the top of the file down. */
function byWeight(a: Finding, b: Finding): number {
  return weights[a.level] - weights[b.level] || (a.line ?? 0) - (b.line ?? 0)
}

function textOf(bytes: Uint8Array): string | Finding {
  if (bytes.length > most.bytes) return error('the file is larger than 1 MB and was not read', 'make it smaller')
  const notText = error('the file is not UTF-8 text', 'save it as UTF-8, or give it another ending than .md')
  if (bytes.includes(0)) return notText
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return notText
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** What a file would be called by its place. */
export function nameOfFile(path: string): string {
  const written = writtenPlace(path)
  const verdict = agentName(written)
  return verdict.ok ? verdict.name : visible(written)
}

/** The name that its file, or the folder of a SKILL.md, has on the disk. */
function writtenPlace(path: string): string {
  return isSkillFile(path) ? basename(dirname(path)) : basename(path).replace(/(?:\.agent)?\.md$/i, '')
}

function nameIn({ fields, lines }: HeadAndBody, { path }: AgentFile): { name: string; findings: Finding[] } {
  const line = lines.get('name')
  const ofFile = nameOfFile(path)
  const what = isSkillFile(path) ? 'folder' : 'file'
  const written = plainText(fields.get('name'))
  const verdict = agentName(written ?? ofFile)
  if (!verdict.ok) return { name: visible(written ?? ofFile), findings: [error(verdict.why, verdict.remedy, line)] }
  const { name } = verdict
  if (written === undefined) {
    const place = writtenPlace(path)
    const from = place === name ? `is its ${what}'s` : `is made from its ${what} "${visible(place)}"`
    return { name, findings: [note(`it has no name: ${name} ${from}`, `add name: ${name}`)] }
  }
  const findings: Finding[] = []
  if (verdict.changed)
    findings.push(note(`the name "${visible(written)}" was changed to ${name}`, `write name: ${name}`, line))
  if (name !== ofFile)
    findings.push(note(`it is called ${name}, its ${what} ${ofFile}`, `rename the ${what} or the agent`, line))
  return { name, findings }
}

const noTriggers = note(
  'it has no triggers: only its description says when to use it',
  'add triggers: [words, that should make one think of it]',
)

function descriptionIn({ fields, lines, body }: HeadAndBody): { text: string; findings: Finding[] } {
  const line = lines.get('description')
  const written = oneLine(withoutExamples(plainText(fields.get('description')) ?? ''))
  if (written !== '') return { text: written, findings: [] }
  const remedy = 'add description: and one sentence that says what it does and when to use it'
  const tell = body.trim() === '' ? error : warning
  const finding = tell(`it has no description: who gives work sees "${noDescription}"`, remedy, line)
  return { text: noDescription, findings: [finding] }
}

/** An unknown model is an error: work that was meant for one model must not be done by another unseen. */
function modelIn(
  { fields, lines }: HeadAndBody,
  models: readonly string[] | undefined,
): { name: string | null; findings: Finding[] } {
  const wished = [fields.get('model')].flat().flatMap((each) => plainText(each) ?? [])
  const [first] = wished
  if (first === undefined || first === 'inherit') return { name: null, findings: [] }
  const found = models === undefined ? first : wished.find((each) => models.includes(each))
  if (found !== undefined) return { name: found, findings: [] }
  const close = nearest(first, models ?? [])
  const add = `remove the line model:, or add a model of that name: heddle models add --name ${first}`
  const remedy = close ? `did you mean ${close}?` : add
  return { name: null, findings: [error(`there is no model ${first} in heddle.yaml`, remedy, lines.get('model'))] }
}

function aboutText(description: string, body: string, line: number | undefined): Finding[] {
  const findings: Finding[] = []
  if (body === '') findings.push(warning('it has no instructions', 'write below the second --- what it shall do'))
  if (description.length > most.description)
    findings.push(note('the description has more than 1,024 characters', 'say it in one sentence', line))
  const lines = body.split('\n').length
  const tokens = Math.ceil(Buffer.byteLength(body) / bytesPerToken)
  if (lines > most.lines || tokens > most.tokens) {
    const long = `the instructions are long: ${figure(lines)} lines, about ${figure(tokens)} tokens`
    findings.push(note(long, 'move what it seldom needs into files that it can read'))
  }
  const hidden = hiddenIn(description) + hiddenIn(body)
  if (hidden > 0)
    findings.push(warning(`it has ${figure(hidden)} characters that nobody sees`, 'remove them: a model reads them'))
  if (/(?:^|\s)!`[^`]+`/.test(body))
    findings.push(note('commands in its text, !`…`, are not run: it reads them as text', 'let it run them by exec'))
  return findings
}

/** Counts what a person does not see, without what colours and joins emoji. */
function hiddenIn(text: string): number {
  const bare = text.replaceAll(/[\ufe0e\ufe0f]|(?<=\p{Extended_Pictographic}\S?)\u200d/gu, '')
  return [...visible(bare).matchAll(/\\u\{[0-9a-f]+\}/g)].length - [...bare.matchAll(/\\u\{[0-9a-f]+\}/g)].length
}

function plainText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim()
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return plainText(value.join(' '))
  return undefined
}

/** A line for lists: whole conversations that some files give as examples stay in `extra`. */
function withoutExamples(text: string): string {
  return text.replaceAll('\\n', ' ').replace(/\s*(?:\bExamples?\s*(?:usage)?\s*:?)?\s*<example>[\s\S]*$/i, '')
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function figure(count: number): string {
  return count.toLocaleString('en')
}
