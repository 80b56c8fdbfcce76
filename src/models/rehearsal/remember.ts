import { answerTo, type Seen, type Step } from './seen.ts'

/** The tools of whoever delegates, and of whoever works alone. */
const keeping = ['memory_store', 'remember']
const asking = ['memory_query', 'recall']

interface Known {
  id: string
  content: string
  from?: string
}

/** What the tool says about a statement that it was given. */
interface Kept {
  id?: number
  content?: string
  note?: string
  superseded?: Mentioned[]
  near?: Mentioned[]
}

interface Mentioned {
  id: string
  date: string
  /** Left out where strangers said it. */
  content?: string
}

/** Keeps the words of a person, and tells what is kept under which number. */
export function rememberWords(seen: Seen, heard: RegExpExecArray): Step {
  const answer = made(seen, keeping, { content: asSentence(heard[1] ?? '') })
  if (typeof answer !== 'string') return answer
  const { id, content, note, superseded = [], near = [] } = parsed<Kept>(answer)
  if (id === undefined) return { text: `it was not kept: ${answer}` }
  const isNew = near.length > 0 || note === undefined
  const lines = [
    `${isNew ? 'kept as' : 'known already as'} [id:${id}]: ${content}${isNew ? '' : '; it counts more now'}`,
    ...superseded.map((older) => `in the place of ${mentioned(older)}`),
    ...near.map((other) => `looks like ${mentioned(other)}`),
    `heddle why memory:${id}`,
  ]
  return { text: lines.join('\n') }
}

function mentioned({ id, date, content }: Mentioned): string {
  return `${id} ${date} ${content ?? '(not from you)'}`
}

/** With a capital, unless the first word is a name whose spelling matters, such as `db1` or `iPhone`. */
function asSentence(words: string): string {
  const text = words.trim()
  return /^\p{Ll}+(?=[\s,])/u.test(text) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text
}

/** Quotes what is known that shares words with what is asked, each with where it came from. */
export function tellKnown(seen: Seen, heard: RegExpExecArray): Step {
  const query = (heard[1] ?? '').trim()
  const answer = made(seen, asking, { query })
  if (typeof answer !== 'string') return answer
  const { memories = [] } = parsed<{ memories?: Known[] }>(answer)
  if (memories.length === 0) return { text: `nothing is known about ${query}. Say: remember that …` }
  const lines = memories.map(({ id, content, from }) => {
    const number = /\d+/.exec(id)?.[0]
    return `${id} ${content}${from === undefined ? '' : `, from ${from}`}    heddle why memory:${number}`
  })
  return { text: `of ${query} this is known:\n${lines.join('\n')}` }
}

/** What a tool answered, or the call to be made; words for the person where there is no such tool. */
function made(seen: Seen, names: readonly string[], input: Record<string, unknown>): string | Step {
  const name = names.find((each) => seen.tools.has(each))
  if (name === undefined) return { text: `I have no ${names.join(' and no ')}: memory is off here.` }
  return answerTo(seen, name, input) ?? { calls: [{ name, input }] }
}

function parsed<T extends object>(text: string): T | Record<string, never> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
