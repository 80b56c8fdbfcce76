import type { CommandOutcome, OutcomeBlock, OutcomeCell } from '../../api/commands.ts'
import type { Millis } from '../../domain/clock.ts'
import { formatAge, paint, printable, type Screen, table, wrapText } from '../terminal/screen.ts'

/** What a command shows, drawn for a terminal. */
export function outcomeLines(screen: Screen, { blocks, next }: CommandOutcome, now: Millis): string {
  const [only] = blocks
  const hint = next === undefined ? '' : printable(next)
  if (only?.kind === 'text' && blocks.length === 1 && !only.text.includes('\n'))
    return fitted(screen, hint === '' ? only.text : `${only.text}    ${hint}`)
  const shown = blocks.map((block) => blockLines(screen, block, now))
  return [...shown, ...(hint === '' ? [] : [paint(screen, 'dim', hint)])].join('\n')
}

function blockLines(screen: Screen, block: OutcomeBlock, now: Millis): string {
  if (block.kind === 'text') return fitted(screen, block.text)
  if (block.kind === 'quote') return quoted(screen, block.text)
  if (block.kind === 'facts') return formatFacts(screen, block, now)
  const rows = block.rows.map((row) => row.map((cell) => cellText(cell, now)))
  const names = block.columns.map((name) => paint(screen, 'dim', name))
  return table(screen, [names, ...rows], Math.max(0, block.columns.indexOf(block.wide)))
}

function formatFacts(screen: Screen, { facts }: Extract<OutcomeBlock, { kind: 'facts' }>, now: Millis): string {
  const width = Math.max(11, ...facts.map(({ name }) => name.length + 2))
  const hang = ' '.repeat(width)
  return facts
    .map(({ name, value }) => {
      const text = `${paint(screen, name === 'needs you' ? 'yellow' : 'dim', name.padEnd(width))}${cellText(value, now)}`
      return screen.isTerminal ? wrapText(text, screen.columns, { words: true, hang }).join('\n') : text
    })
    .join('\n')
}

function fitted(screen: Screen, text: string): string {
  const safe = printable(text, { lines: true })
  return screen.isTerminal ? wrapText(safe, screen.columns, { words: true }).join('\n') : safe
}

/** Each line has a mark before it that no text can forge. */
function quoted(screen: Screen, text: string): string {
  const safe = printable(text, { lines: true })
  const rows = screen.isTerminal ? wrapText(safe, screen.columns - mark.length, { words: true }) : safe.split('\n')
  return rows.map((row) => `${mark}${row}`).join('\n')
}

const mark = '  │ '
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** A cell in one line; a past time as how long ago it was. */
function cellText(cell: OutcomeCell, now: Millis): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return cell.toLocaleString('en-US', { maximumFractionDigits: 4 })
  if (isoTime.test(cell) && Date.parse(cell) <= now) return formatAge(cell, now)
  return printable(cell)
}
