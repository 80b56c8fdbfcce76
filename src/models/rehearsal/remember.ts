import { answerTo, type Seen, type Step } from './seen.ts'

/** The tools of whoever delegates, and of whoever works alone. */
const keeping = ['memory_store', 'remember']
const asking = ['memory_query', 'recall']

interface Known {
  id: string
  content: string
  from?: string
}

/** Keeps the words of a person, and tells under which number. */
export function rememberWords(seen: Seen, heard: RegExpExecArray): Step {
  const content = `${(heard[1] ?? '').trim().charAt(0).toUpperCase()}${(heard[1] ?? '').trim().slice(1)}`
  const answer = made(seen, keeping, { content })
  if (typeof answer !== 'string') return answer
  const { id, superseded = [] } = parsed<{ id?: number; superseded?: Known[] }>(answer)
  if (id === undefined) return { text: `it was not kept: ${answer}` }
  const instead = superseded.map((older) => `\nin the place of ${older.id} ${older.content}`).join('')
  return { text: `kept as [id:${id}]: ${content}${instead}\nheddle why memory:${id}` }
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
