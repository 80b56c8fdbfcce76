import type { ModelMessage } from '../domain/model.ts'
import { stripLabel } from './label.ts'

const opening = 'Not started: '

/** Says that a task was refused. */
export function notStartedLine(task: unknown, why: string): string {
  return `${opening}${String(task)}: ${why}`
}

/**
 * Repeats what the last answer said was not started. The answer to a request is the last one, when all that was started has
 * ended: the user who waited for it has not seen the one before.
 */
export function stillNotStarted(messages: readonly ModelMessage[]): string[] {
  const last = messages.findLast((message) => message.role === 'assistant' && message.calls.length === 0)
  const lines = stripLabel(last?.content ?? '')
    .split('\n')
    .filter((line) => line.startsWith(opening))
  return lines.map((line) => `Still n${line.slice(1)}`)
}
