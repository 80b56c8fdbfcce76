import { unlabelled } from './label.ts'
import type { Seen, Step } from './seen.ts'

const mostAsked = 5
const longest = 160

export function isNarrator({ system }: Seen): boolean {
  return system.startsWith('You are the narrator of heddle')
}

/** Quotes what a person asked for and how the last answer began: that is where things stand, as far as words tell. */
export function narrate({ messages }: Seen): Step {
  const [, talk = ''] = (messages.at(-1)?.content ?? '').split(/^## Since then, in the session /m)
  const [name = '', ...rest] = talk.split('\n')
  const said = rest.join('\n').split(/^(?=(?:person|answer): )/m)
  const asked = said.filter((line) => line.startsWith('person: ')).map((line) => `"${brief(line)}"`)
  const answer = said.findLast((line) => line.startsWith('answer: '))
  const more = asked.length > mostAsked ? `${asked.length - mostAsked} more before, then ` : ''
  const end = answer === undefined ? '' : ` The last answer: ${brief(answer)}`
  return { text: `In the session ${name} a person asked: ${more}${asked.slice(-mostAsked).join(', ')}.${end}` }
}

function brief(line: string): string {
  const text = unlabelled(line.replace(/^\w+: /, ''))
    .replace(/\s+/g, ' ')
    .trim()
  return text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text
}
