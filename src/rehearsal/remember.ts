import { answerTo, type ScriptStep, type ScriptView } from './script-view.ts'

/** Memory tools of the coordinator and of a single agent. */
const storeTools = ['memory_store', 'remember']
const queryTools = ['memory_query', 'recall']

interface FoundMemory {
  id: string
  content: string
  from?: string
}

/** Answer of the store tool. */
interface StoreAnswer {
  id?: number
  content?: string
  note?: string
  superseded?: OtherMemory[]
  near?: OtherMemory[]
}

interface OtherMemory {
  id: string
  date: string
  /** Missing for an untrusted memory. */
  content?: string
}

/** Stores the user's statement and reports its id. */
export function storeStatement(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const answer = callTool(view, storeTools, { content: asSentence(match[1] ?? '') })
  if (typeof answer !== 'string') return answer
  const { id, content, note, superseded = [], near = [] } = parseJson<StoreAnswer>(answer)
  if (id === undefined) return { text: `not stored: ${answer}` }
  const isNew = !note?.startsWith('already saved')
  const lines = [
    `${isNew ? 'stored as' : 'already stored as'} [id:${id}]: ${content}${isNew ? '' : '; its score went up'}`,
    ...superseded.map((older) => `replaces ${describeOther(older)}`),
    ...near.map((other) => `similar: ${describeOther(other)}`),
    `heddle why memory:${id}`,
  ]
  return { text: lines.join('\n') }
}

function describeOther({ id, date, content }: OtherMemory): string {
  return `${id} ${date} ${content ?? '(not from you)'}`
}

/** Capitalizes the first word, unless its spelling matters, such as `db1` or `iPhone`. */
function asSentence(words: string): string {
  const text = words.trim()
  return /^\p{Ll}+(?=[\s,])/u.test(text) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text
}

/** Quotes memories that share words with the query, each with its source. */
export function quoteMemories(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const query = (match[1] ?? '').trim()
  const answer = callTool(view, queryTools, { query })
  if (typeof answer !== 'string') return answer
  const { memories = [] } = parseJson<{ memories?: FoundMemory[] }>(answer)
  if (memories.length === 0) return { text: `I know nothing about ${query}. Say: remember that …` }
  const lines = memories.map(({ id, content, from }) => {
    const number = /\d+/.exec(id)?.[0]
    return `${id} ${content}${from === undefined ? '' : `, from ${from}`}    heddle why memory:${number}`
  })
  return { text: `known about ${query}:\n${lines.join('\n')}` }
}

/** Answer of a tool, the call to make, or a text if there is no such tool. */
function callTool(view: ScriptView, names: readonly string[], input: Record<string, unknown>): string | ScriptStep {
  const name = names.find((each) => view.tools.has(each))
  if (name === undefined) return { text: `I have no ${names.join(' and no ')}: memory is off here.` }
  return answerTo(view, name, input) ?? { calls: [{ name, input }] }
}

function parseJson<T extends object>(text: string): T | Record<string, never> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
