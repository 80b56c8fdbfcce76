import { describePart } from '../domain/attachment.ts'
import { HeddleError } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Said } from './outbox.ts'
import { cut, paint, printable, type Screen, wrapped } from './screen.ts'

const mostRows = 12

/** What was said, as it stands in the talk: of something very long the beginning. */
export function saidLines(screen: Screen, prompt: string, { how, content, parts }: Omit<Said, 'isShown'>): string {
  const mark = how === 'message' ? '' : `(${how}) `
  const text = `${prompt}${mark}${printable(content, { lines: true }).replaceAll('\t', '    ')}`
  const rows = screen.isTerminal ? wrapped(text, screen.columns, { words: true }) : text.split('\n')
  const more = rows.length - mostRows
  const shown = more > 1 ? [...rows.slice(0, mostRows), `… ${more} more lines`] : rows
  const files = parts.map((part) =>
    paint(screen, 'dim', cut(`  with ${printable(describePart(part))}`, screen.columns)),
  )
  return [...shown.map((row) => paint(screen, 'bold', row)), ...files].join('\n')
}

/** What waits for the next run, or for the next step of this one. */
export function waitingLine(screen: Screen, { how, content }: Said): string {
  const word = how === 'message' ? 'queued' : how
  return paint(screen, 'dim', `${word}: ${cut(printable(content), screen.columns - word.length - 2)}`)
}

/** A sentence of our own, broken between words where there is a width. */
export function notice(screen: Screen, text: string, hang = ''): string {
  const safe = printable(text)
  return screen.isTerminal ? wrapped(safe, screen.columns, { words: true, hang }).join('\n') : safe
}

/** What to do about a failure, below it. */
export function remedyLine(screen: Screen, remedy: string): string {
  return notice(screen, `  → ${remedy}`, '    ')
}

/** What went wrong, and what to do about it if that is known. */
export function complaint(screen: Screen, error: unknown, what: string): string {
  const message = error instanceof Error ? error.message : String(error)
  const why = paint(screen, 'red', what + printable(message))
  return error instanceof HeddleError ? `${why}\n${remedyLine(screen, error.remedy)}` : why
}

/** Where what is under way is when we leave. */
export function farewell(runId: string, isAlone: boolean): string {
  const run = `run:${tail(runId)}`
  return isAlone ? `${run} is queued again    heddle goes on with it` : `${run} goes on    heddle watch ${run}`
}
