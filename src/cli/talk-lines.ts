import type { Said } from './outbox.ts'
import { cut, paint, printable, type Screen, wrapped } from './screen.ts'

const mostRows = 12

/** What was said, as it stands in the talk: of something very long the beginning. */
export function saidLines(screen: Screen, prompt: string, { how, content }: Pick<Said, 'how' | 'content'>): string {
  const mark = how === 'message' ? '' : `(${how}) `
  const text = `${prompt}${mark}${printable(content, { lines: true }).replaceAll('\t', '    ')}`
  const rows = screen.isTerminal ? wrapped(text, screen.columns, { words: true }) : text.split('\n')
  const more = rows.length - mostRows
  const shown = more > 1 ? [...rows.slice(0, mostRows), `… ${more} more lines`] : rows
  return shown.map((row) => paint(screen, 'bold', row)).join('\n')
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
