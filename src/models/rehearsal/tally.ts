import { count, leftToDo } from './counted.ts'
import { holds, nameOf, type Part, placeOf } from './part.ts'
import { askedAll, type Call, type Seen } from './seen.ts'
import { type Hit, linesInAll, readFiles, readMatches, reasonIn, type Searched } from './tool-texts.ts'

const mostFiles = 24
// Few: a report of all parts must not hold so many that a search of the folder shows nothing but the report.
const mostQuotes = 3
const everyLine = { pattern: '^', regex: true }
const exported = { pattern: '^\\s*export\\b', regex: true }
const marked = { pattern: leftToDo }

/** The four numbers of a part. */
export interface Numbers {
  files: number
  lines: number
  exports: number
  todo: number
}

/** What was counted in a part, and the lines that tell it: the numbers first, then where they come from. */
export interface Tally {
  numbers: Numbers
  lines: string[]
}

/** Counts a part, without the one file that is left out; `why` when it could not be counted. */
export function tallyPart(seen: Seen, part: Part, without: string): { calls: Call[] } | Tally | { why: string } {
  const asked = askedAll(seen, [
    ...searches(placeOf(part)),
    ...(holds(part, without) ? searches({ path: without }) : []),
  ])
  if ('calls' in asked) return asked
  const whole = readCounts(asked.answers.slice(0, 4))
  if ('why' in whole) return whole
  // What is left out may not be there: then there is nothing to take away.
  const apart = readCounts(asked.answers.slice(4))
  const counts = 'why' in apart ? whole : difference(whole, apart, without)
  const read = askedAll(
    seen,
    counts.paths.slice(0, mostFiles).map((path) => ({ name: 'read_file', input: { path, limit: 1 } })),
  )
  if ('calls' in read) return read
  return { numbers: counts.numbers, lines: told(part, counts, read.answers) }
}

interface Counts {
  numbers: Numbers
  paths: string[]
  exports: Hit[]
  todo: Hit[]
  notes: string[]
}

function searches(place: Record<string, unknown>): Call[] {
  return [{ pattern: '' }, everyLine, exported, marked].map((wanted) => ({
    name: 'search_files',
    input: { ...wanted, ...place },
  }))
}

function readCounts(answers: string[]): Counts | { why: string } {
  const [names = '', ...texts] = answers
  const files = readFiles(names)
  const [lines, exports, todo] = texts.map(readMatches)
  if (answers.length < 4 || !files || !lines || !exports || !todo)
    return { why: reasonIn(answers.find((text) => text.startsWith('{')) ?? 'the search was stopped before its end') }
  return {
    numbers: { files: files.count, lines: lines.matches, exports: exports.matches, todo: todo.matches },
    paths: files.paths,
    exports: exports.hits,
    todo: todo.hits,
    notes: todo.notes,
  }
}

function difference(whole: Counts, apart: Counts, path: string): Counts {
  const elsewhere = (hit: Pick<Searched['hits'][number], 'path'>) => hit.path !== path
  return {
    numbers: {
      files: whole.numbers.files - apart.numbers.files,
      lines: whole.numbers.lines - apart.numbers.lines,
      exports: whole.numbers.exports - apart.numbers.exports,
      todo: whole.numbers.todo - apart.numbers.todo,
    },
    paths: whole.paths.filter((each) => each !== path),
    exports: whole.exports.filter(elsewhere),
    todo: whole.todo.filter(elsewhere),
    notes: whole.notes,
  }
}

function told(part: Part, { numbers, paths, exports, todo, notes }: Counts, read: string[]): string[] {
  const shown = paths.slice(0, mostFiles)
  const [first] = todo
  const where = first ? ` (first ${first.path}:${first.line})` : ''
  const lines = [
    `${nameOf(part)}: ${inWords(numbers)}${where}.`,
    ...shown.map((path, at) => `${path}: ${count(linesInAll(read[at] ?? ''), 'line')}`),
    ...more(numbers.files - shown.length, 'files'),
    ...quotes(todo, numbers.todo, 'left to do'),
    ...quotes(exports, numbers.exports, 'exports'),
    ...notes,
  ]
  // A line that is exported and left to do is quoted once.
  return [...new Set(lines)]
}

/** The four numbers as they stand everywhere. */
export function inWords({ files, lines, exports, todo }: Numbers): string {
  return [count(files, 'file'), count(lines, 'line'), count(exports, 'export'), count(todo, leftToDo)].join(', ')
}

export function sumOf(all: Numbers[]): Numbers {
  const sum = { files: 0, lines: 0, exports: 0, todo: 0 }
  for (const { files, lines, exports, todo } of all) {
    sum.files += files
    sum.lines += lines
    sum.exports += exports
    sum.todo += todo
  }
  return sum
}

function quotes(hits: Hit[], all: number, what: string): string[] {
  const shown = hits.slice(0, mostQuotes)
  return [...shown.map(({ path, line, text }) => `${path}:${line}: ${text.trim()}`), ...more(all - shown.length, what)]
}

function more(left: number, what: string): string[] {
  return left > 0 ? [`… more ${what}: ${left}`] : []
}
