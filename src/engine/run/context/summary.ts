import type { Part } from '../../../domain/message.ts'
import type { ModelMessage } from '../../../domain/model.ts'
import { callAsText, summaryMessage } from '../../model/model-messages.ts'
import { tokensOfText } from '../../model/weight.ts'
import { preview } from '../../turns/history.ts'

export const summaryInstruction =
  'This conversation is too long for the context window. Write a summary that replaces the text below. Keep what was asked for and why, what was decided and done, and what is still open, promised or under way. ' +
  'Keep names, numbers, paths, quotes and pointers such as [agent_result:3], plan:2 or [id:4] exactly as they are. ' +
  'Add nothing. Answer with the summary only.'

/** Note to the model when its summary is too short. */
export function tooShortNotice(text: string): string {
  return `\n\nThis is too short to replace all that: "${preview(text)}". Write the whole summary.`
}

/** Min length of a summary: a hundredth of the text it replaces, within these bounds in tokens. */
const minPart = 0.01
const [minTokens, maxTokens] = [20, 200]

/** Whether a summary is long enough to replace a text. */
export function isLongEnough(summary: string, text: string): boolean {
  return tokensOfText(summary) >= Math.min(maxTokens, Math.max(minTokens, tokensOfText(text) * minPart))
}

/** Max characters of one tool answer in a transcript. */
const maxOfAnswer = 4000

/** A message as text for the summarising model. */
export function transcribe(message: ModelMessage): string {
  if (message.role === 'tool') return `tool ${message.name} answered: ${truncate(message.content)}`
  if (message.role === 'user') return [`user: ${message.content}`, ...(message.parts ?? []).map(partAsText)].join('\n')
  return [`assistant: ${message.content}`, ...message.calls.map(callAsText)].join('\n')
}

function truncate(text: string): string {
  if (text.length <= maxOfAnswer) return text
  return `${text.slice(0, maxOfAnswer).toWellFormed()}\n… [cut: ${text.length - maxOfAnswer} more characters]`
}

function partAsText(part: Part): string {
  if (part.type === 'file') return `(with the file ${part.path})`
  return `(with a picture, ${part.path === undefined ? '' : `${part.path}, `}${part.mediaType})`
}

/** Substitute for a missing summary: the beginning of every text. */
export function openingLines(piece: string, maxTokens: number): string {
  const texts = piece.split('\n\n')
  // A character has at most four bytes, i.e. about one token, so this fits.
  const each = Math.max(1, Math.min(200, Math.floor(maxTokens / texts.length)))
  return texts.map((text) => preview(text, each)).join('\n')
}

const pointers = /\[agent_result:\d+\]|\bplan:\d+\b|\[id:\d+\]/g
/** Max items per list. */
const maxListed = 40

const headings = { files: 'Files', underWay: 'Started and not heard of yet' }

/**
 * Lists references that the model's summary lost: pointers, files and agents under way, including those that the runtime
 * listed in an earlier summary.
 */
export function missingReferences(messages: readonly ModelMessage[], summary: string): string {
  const text = messages.map(({ content }) => content).join('\n')
  const started = [...listedBefore(messages, headings.underWay, '; '), ...underWay(messages)]
  // An agent that is mentioned outside the runtime's own lists has delivered its result.
  const unfinished = started.filter((each) => mentions(withoutLists(text), runIn(each)) === false)
  const lines = [
    listMissing('Pointers', text.match(pointers) ?? [], summary, ', '),
    listMissing(headings.files, [...listedBefore(messages, headings.files, ', '), ...pathsIn(messages)], summary, ', '),
    listMissing(headings.underWay, unfinished, summary, '; '),
  ]
  return lines.map((line) => (line === '' ? '' : `\n${line}`)).join('')
}

function listMissing(what: string, found: readonly string[], summary: string, separator: string): string {
  const missing = [...new Set(found)].filter((each) => !mentions(summary, each))
  return missing.length === 0 ? '' : `${what}: ${missing.slice(-maxListed).join(separator)}`
}

/** Whether a text names this very thing: `plan:1` is not in `plan:12`, nor `a.ts` in `data.ts`. */
function mentions(text: string, name: string): boolean {
  const [before, after] = [/^\w/.test(name) ? '(?<![\\w./-])' : '', /\w$/.test(name) ? '(?![\\w-]|[./]\\w)' : '']
  return new RegExp(`${before}${RegExp.escape(name)}${after}`).test(text)
}

/** Items that the runtime listed under this heading in an earlier summary. */
function listedBefore(messages: readonly ModelMessage[], heading: string, separator: string): string[] {
  const summaries = messages.filter(({ role, content }) => role === 'user' && content.startsWith(summaryMessage('')))
  const lines = summaries.flatMap(({ content }) =>
    content.split('\n').filter((line) => line.startsWith(`${heading}: `)),
  )
  return lines.flatMap((line) => line.slice(heading.length + 2).split(separator))
}

function withoutLists(text: string): string {
  return text.replace(new RegExp(`^${headings.underWay}: .*$`, 'gm'), '')
}

function runIn(started: string): string {
  return started.split(' ')[0] ?? started
}

function pathsIn(messages: readonly ModelMessage[]): string[] {
  return callsIn(messages).flatMap(({ input }) => stringAt(input, 'path') ?? [])
}

/** Started agents, as `run:and8rp (look it up)`. */
function underWay(messages: readonly ModelMessage[]): string[] {
  const tasks = new Map(callsIn(messages).map(({ id, input }) => [id, stringAt(input, 'task') ?? '']))
  return messages.flatMap((message) => {
    const task = message.role === 'tool' ? tasks.get(message.callId) : undefined
    const [, tail] = (task && message.role === 'tool' && /"run(?:_i|I)d":"\w*(\w{6})"/.exec(message.content)) || []
    return tail === undefined ? [] : [`run:${tail} (${preview(task ?? '')})`]
  })
}

function callsIn(messages: readonly ModelMessage[]) {
  return messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []))
}

function stringAt(input: unknown, key: string): string | undefined {
  const value = typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[key] : undefined
  return typeof value === 'string' ? value : undefined
}
