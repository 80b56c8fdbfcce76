import { stripLabel } from './label.ts'
import type { ScriptStep, ScriptView } from './script-view.ts'

const maxRequests = 5
const maxLength = 160

export function isNarrator({ system }: ScriptView): boolean {
  return system.startsWith('You are the narrator of heddle')
}

/** Writes a narrative by quoting the user's requests and the beginning of the last answer. */
export function narrate({ messages }: ScriptView): ScriptStep {
  const [, talk = ''] = (messages.at(-1)?.content ?? '').split(/^## New in session /m)
  const [name = '', ...rest] = talk.split('\n')
  const items = rest.join('\n').split(/^(?=(?:person|answer): )/m)
  const requests = items.filter((line) => line.startsWith('person: ')).map((line) => `"${brief(line)}"`)
  const answer = items.findLast((line) => line.startsWith('answer: '))
  const more = requests.length > maxRequests ? `${requests.length - maxRequests} more before, then ` : ''
  const end = answer === undefined ? '' : ` The last answer: ${brief(answer)}`
  return { text: `In the session ${name} the user asked: ${more}${requests.slice(-maxRequests).join(', ')}.${end}` }
}

function brief(line: string): string {
  const text = stripLabel(line.replace(/^\w+: /, ''))
    .replace(/\s+/g, ' ')
    .trim()
  return text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}…` : text
}
