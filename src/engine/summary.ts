import type { Part } from '../domain/message.ts'
import type { ModelMessage } from '../domain/model.ts'
import { preview } from './history.ts'
import { calledLine } from './model-messages.ts'
import { tokensIn } from './weight.ts'

export const instruction =
  'You keep the memory of a conversation that has become too long. Write the summary that will stand for the text ' +
  'below. Keep what was asked for and why, what was decided and done, and what is still open, promised or under way. ' +
  'Keep names, numbers, paths, quotes and pointers such as [agent_result:3], plan:2 or [id:4] exactly as they are. ' +
  'Add nothing. Answer with the summary only.'

/** Said when a summary came back that cannot stand for what it replaces. */
export function tooShort(text: string): string {
  return `\n\nThis is too short to stand for all that: "${preview(text)}". Write the whole summary.`
}

/** A hundredth of what it replaces is the least that can stand for it; nobody is asked for more than a page. */
const leastPart = 0.01
const [fewest, most] = [20, 200]

/** Whether a summary can stand for a text. */
export function canStandFor(summary: string, text: string): boolean {
  return tokensIn(summary) >= Math.min(most, Math.max(fewest, tokensIn(text) * leastPart))
}

/** Characters of one answer that a summary is made of: whoever needs more of it reads on. */
const mostOfAnswer = 4000

/** A message as the one who sums up reads it. */
export function transcribed(message: ModelMessage): string {
  if (message.role === 'tool') return `tool ${message.name} answered: ${shortened(message.content)}`
  if (message.role === 'user') return [`user: ${message.content}`, ...(message.parts ?? []).map(mentioned)].join('\n')
  return [`assistant: ${message.content}`, ...message.calls.map(calledLine)].join('\n')
}

function shortened(text: string): string {
  if (text.length <= mostOfAnswer) return text
  return `${text.slice(0, mostOfAnswer).toWellFormed()}\n… [cut: ${text.length - mostOfAnswer} more characters]`
}

function mentioned(part: Part): string {
  if (part.type === 'file') return `(with the file ${part.path})`
  return `(with a picture, ${part.path === undefined ? '' : `${part.path}, `}${part.mediaType})`
}

/** What there is when a model has no summary to give: the beginning of everything, and nothing made up. */
export function openings(piece: string, mostTokens: number): string {
  const texts = piece.split('\n\n')
  // At four bytes a character even the widest text fits.
  const each = Math.max(1, Math.min(200, Math.floor(mostTokens / texts.length)))
  return texts.map((text) => preview(text, each)).join('\n')
}

const pointers = /\[agent_result:\d+\]|\bplan:\d+\b|\[id:\d+\]/g
/** So many of a kind are named. */
const mostNamed = 40

/** What a summary must not lose, named by the runtime where the model did not: pointers, files, and what is under way. */
export function stillNamed(messages: readonly ModelMessage[], summary: string): string {
  const text = messages.map(({ content }) => content).join('\n')
  const lines = [
    named('Pointers', text.match(pointers) ?? [], summary),
    named('Files', pathsIn(messages), summary),
    named('Started and not heard of yet', underWay(messages, text), summary),
  ]
  return lines.map((line) => (line === '' ? '' : `\n${line}`)).join('')
}

function named(what: string, found: readonly string[], summary: string): string {
  const missing = [...new Set(found)].filter((each) => !summary.includes(each))
  return missing.length === 0 ? '' : `${what}: ${missing.slice(-mostNamed).join(', ')}`
}

function pathsIn(messages: readonly ModelMessage[]): string[] {
  return callsIn(messages).flatMap(({ input }) => stringAt(input, 'path') ?? [])
}

/** Agents that were started, of which no result was told: `run:and8rp (look it up)`. */
function underWay(messages: readonly ModelMessage[], text: string): string[] {
  const tasks = new Map(callsIn(messages).map(({ id, input }) => [id, stringAt(input, 'task') ?? '']))
  return messages.flatMap((message) => {
    const task = message.role === 'tool' ? tasks.get(message.callId) : undefined
    const [, tail] = (task && message.role === 'tool' && /"run_id":"\w*(\w{6})"/.exec(message.content)) || []
    return tail === undefined || text.includes(`run:${tail}`) ? [] : [`run:${tail} (${preview(task ?? '')})`]
  })
}

function callsIn(messages: readonly ModelMessage[]) {
  return messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []))
}

function stringAt(input: unknown, key: string): string | undefined {
  const value = typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[key] : undefined
  return typeof value === 'string' ? value : undefined
}
