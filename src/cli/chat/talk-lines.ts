import { describePart } from '../../domain/attachment.ts'
import { HeddleError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { paint, printable, type Screen, truncateToWidth, wrapText } from '../terminal/screen.ts'
import type { OutgoingMessage } from './outbox.ts'

const maxRows = 12

/** A message of the user as printed in the chat; a long one is cut. */
export function messageLines(
  screen: Screen,
  prompt: string,
  { how, content, parts }: Omit<OutgoingMessage, 'isShown'>,
): string {
  const mark = how === 'message' ? '' : `(${how}) `
  const text = `${prompt}${mark}${printable(content, { lines: true }).replaceAll('\t', '    ')}`
  const rows = screen.isTerminal ? wrapText(text, screen.columns, { words: true }) : text.split('\n')
  const more = rows.length - maxRows
  const shown = more > 1 ? [...rows.slice(0, maxRows), `… ${more} more lines`] : rows
  const files = parts.map((part) =>
    paint(screen, 'dim', truncateToWidth(`  with ${printable(describePart(part))}`, screen.columns)),
  )
  return [...shown.map((row) => paint(screen, 'bold', row)), ...files].join('\n')
}

/** A message that waits for the next run, or for the next step of this one. */
export function waitingLine(screen: Screen, { how, content }: OutgoingMessage): string {
  const word = how === 'message' ? 'queued' : how
  return paint(screen, 'dim', `${word}: ${truncateToWidth(printable(content), screen.columns - word.length - 2)}`)
}

/** A notice, wrapped between words on a terminal. */
export function notice(screen: Screen, text: string, hang = ''): string {
  const safe = printable(text)
  return screen.isTerminal ? wrapText(safe, screen.columns, { words: true, hang }).join('\n') : safe
}

/** The remedy line below a failure. */
export function remedyLine(screen: Screen, remedy: string): string {
  return notice(screen, `  → ${remedy}`, '    ')
}

/** An error, with its remedy if it has one. */
export function errorNotice(screen: Screen, error: unknown, what: string): string {
  if (error instanceof HeddleError) return failureLines(screen, { message: what + error.message, remedy: error.remedy })
  return colouredNotice(screen, 'red', what + (error instanceof Error ? error.message : String(error)))
}

/** A failure, and its remedy below it. */
export function failureLines(screen: Screen, { message, remedy }: { message: string; remedy: string }): string {
  return `${colouredNotice(screen, 'red', message)}\n${remedyLine(screen, remedy)}`
}

/** A notice in a colour. Each row is coloured separately, so that rows can be redrawn alone. */
export function colouredNotice(screen: Screen, colour: 'red' | 'yellow', text: string): string {
  return notice(screen, text)
    .split('\n')
    .map((line) => paint(screen, colour, line))
    .join('\n')
}

/** Last line when the user leaves: where the running turn continues. */
export function leaveNotice(runId: string, isAlone: boolean): string {
  const run = `run:${shortId(runId)}`
  return isAlone ? `${run} was queued again; heddle continues it` : `${run} keeps running    heddle watch ${run}`
}
