import type { Message } from '../message.ts'
import { isTombstone } from './tombstone.ts'
import { indexWords } from './words.ts'

/** What was asked and answered in a turn, as searches see it. */
export interface TurnText {
  question: string
  answer: string
}

/** The texts of a turn. Results that agents delivered into it are left out: they are found by themselves. */
export function turnText(query: readonly Message[], response: Message): TurnText {
  const asked = query.filter(({ toolCallId }) => toolCallId === undefined).map(({ content }) => content)
  return { question: asked.filter(isThere).join('\n'), answer: isThere(response.content) ? response.content : '' }
}

/** Words that a turn is found by. */
export function turnWords({ question, answer }: TurnText): Set<string> {
  return indexWords([question, answer])
}

function isThere(text: string): boolean {
  return !isTombstone(text)
}
