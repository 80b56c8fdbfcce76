import { anyEqualLine, newLine } from './possible-origins.ts'

/** Consecutive lines with several possible origins; those of each next line are one further. */
export interface LineChoice {
  at: number
  count: number
  /** Of the first one; some may be `newLine` or `anyEqualLine`. */
  origins: number[]
}

/** Max origins of a line that are listed. */
const maxOrigins = 20

export function choicesOf(open: ReadonlyMap<number, readonly number[]>): LineChoice[] {
  const choices: LineChoice[] = []
  for (const [line, all] of [...open].sort(([a], [b]) => a - b)) {
    const origins = all.length > maxOrigins ? [anyEqualLine] : all
    const last = choices.at(-1)
    const next = last && last.at + last.count === line ? originsAt(last, line) : []
    if (last && next.length === origins.length && next.every((each, at) => each === origins[at])) last.count++
    else choices.push({ at: line, count: 1, origins: [...origins] })
  }
  return choices
}

/** Possible origins of one of the lines of a choice. */
export function originsAt({ at, origins }: LineChoice, line: number): number[] {
  return origins.map((each) => (each < 0 ? each : each + line - at))
}

const names = new Map([
  [newLine, 'n'],
  [anyEqualLine, '*'],
])
const byName = new Map([...names].map(([origin, name]) => [name, origin]))

/** Formats choices as `at,count,origin,…` of each, separated by spaces: `n` for a new line, `*` for any equal one. */
export function writeLineChoices(choices: readonly LineChoice[]): string {
  return choices
    .map(({ at, count, origins }) => [at, count, ...origins.map((each) => names.get(each) ?? each)].join(','))
    .join(' ')
}

export function readLineChoices(text: string): LineChoice[] {
  if (text === '') return []
  return text.split(' ').map((each) => {
    const [at = 0, count = 0, ...origins] = each.split(',').map((part) => byName.get(part) ?? Number(part))
    return { at, count, origins }
  })
}
