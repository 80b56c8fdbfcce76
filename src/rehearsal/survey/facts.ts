import { todoMarker } from './format-count.ts'
import type { Numbers } from './tally.ts'

/** One number or quote of a report line. */
export interface ReportFact {
  /** Subject of the fact. */
  of: string
  value: string
}

const numbers = new RegExp(`^(.+): (\\d+) files?, (\\d+) lines?, (\\d+) exports?, (\\d+) ${todoMarker}\\b`)

/** Parses the first line of a part: its name and its four numbers. */
export function readNumbers(line: string): { name: string; numbers: Numbers } | undefined {
  const found = numbers.exec(line)
  if (!found || isQuote(line)) return undefined
  const [files = 0, lines = 0, exports = 0, todo = 0] = found.slice(2).map(Number)
  return { name: found[1] ?? '', numbers: { files, lines, exports, todo } }
}

/** Facts of a line; empty for a line without numbers. */
export function factsIn(line: string, part: string): ReportFact[] {
  const quote = /^(.+?:\d+): (.*)$/.exec(line)
  if (quote) return [{ of: quote[1] ?? '', value: quote[2] ?? '' }]
  const counted = readNumbers(line)
  if (counted) {
    const first = / \(first (.+:\d+)\)/.exec(line)?.[1]
    const where = first === undefined ? [] : [{ of: `first ${todoMarker} of ${counted.name}`, value: first }]
    return [...factsOf(counted.name, counted.numbers), ...where]
  }
  const file = /^(.+): (\d+) lines?$/.exec(line)
  if (file) return [{ of: `lines of ${file[1]}`, value: file[2] ?? '' }]
  const more = /^… more (.+): (\d+)$/.exec(line)
  if (more) return [{ of: `more ${more[1]} in ${part}`, value: more[2] ?? '' }]
  const note = /^not searched: (.+)$/.exec(line)
  return note ? [{ of: `not searched in ${part}`, value: note[1] ?? '' }] : []
}

export function factsOf(name: string, counted: Numbers): ReportFact[] {
  return Object.entries(counted).map(([what, value]) => ({
    of: `${what === 'todo' ? todoMarker : what} of ${name}`,
    value: String(value),
  }))
}

function isQuote(line: string): boolean {
  return /^.+?:\d+: /.test(line)
}
