import { answersOrCalls, type ScriptedCall, type ScriptView } from '../script-view.ts'
import { readFiles, readMatches, reasonIn, type SearchLine, type SearchText, totalLines } from '../tool-texts.ts'
import { formatCount, todoMarker } from './format-count.ts'
import { containsFile, type FolderPart, partName, searchInput } from './part.ts'

const maxFiles = 24
// Few: otherwise a search of the folder would mostly find the report itself.
const maxQuotes = 3
const everyLine = { pattern: '^', regex: true }
const exported = { pattern: '^\\s*export\\b', regex: true }
const marked = { pattern: todoMarker }

/** The four counts of a part. */
export interface Numbers {
  files: number
  lines: number
  exports: number
  todo: number
}

/** Counts of a part, and the lines that report them: the numbers first, then their sources. */
interface Tally {
  numbers: Numbers
  lines: string[]
}

/** Counts a part without the excluded file; `why` when it could not be counted. */
export function tallyPart(
  view: ScriptView,
  part: FolderPart,
  excluded: string,
): { calls: ScriptedCall[] } | Tally | { why: string } {
  const step = answersOrCalls(view, [
    ...searches(searchInput(part)),
    ...(containsFile(part, excluded) ? searches({ path: excluded }) : []),
  ])
  if ('calls' in step) return step
  const whole = readCounts(step.answers.slice(0, 4))
  if ('why' in whole) return whole
  // The excluded file may not exist.
  const excludedCounts = readCounts(step.answers.slice(4))
  const counts = 'why' in excludedCounts ? whole : difference(whole, excludedCounts, excluded)
  const read = answersOrCalls(
    view,
    counts.paths.slice(0, maxFiles).map((path) => ({ name: 'read_file', input: { path, limit: 1 } })),
  )
  if ('calls' in read) return read
  return { numbers: counts.numbers, lines: describeTally(part, counts, read.answers) }
}

interface Counts {
  numbers: Numbers
  paths: string[]
  exports: SearchLine[]
  todo: SearchLine[]
  notes: string[]
}

function searches(location: Record<string, unknown>): ScriptedCall[] {
  return [{ pattern: '' }, everyLine, exported, marked].map((wanted) => ({
    name: 'search_files',
    input: { ...wanted, ...location },
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

function difference(whole: Counts, excludedCounts: Counts, path: string): Counts {
  const elsewhere = (hit: Pick<SearchText['hits'][number], 'path'>) => hit.path !== path
  return {
    numbers: {
      files: whole.numbers.files - excludedCounts.numbers.files,
      lines: whole.numbers.lines - excludedCounts.numbers.lines,
      exports: whole.numbers.exports - excludedCounts.numbers.exports,
      todo: whole.numbers.todo - excludedCounts.numbers.todo,
    },
    paths: whole.paths.filter((each) => each !== path),
    exports: whole.exports.filter(elsewhere),
    todo: whole.todo.filter(elsewhere),
    notes: whole.notes,
  }
}

function describeTally(part: FolderPart, { numbers, paths, exports, todo, notes }: Counts, read: string[]): string[] {
  const listed = paths.slice(0, maxFiles)
  const [first] = todo
  const where = first ? ` (first ${first.path}:${first.line})` : ''
  const lines = [
    `${partName(part)}: ${formatNumbers(numbers)}${where}.`,
    ...listed.map((path, at) => `${path}: ${formatCount(totalLines(read[at] ?? ''), 'line')}`),
    ...more(numbers.files - listed.length, 'files'),
    ...quotes(todo, numbers.todo, 'left to do'),
    ...quotes(exports, numbers.exports, 'exports'),
    ...notes,
  ]
  // A line that is both an export and marked as left to do is quoted once.
  return [...new Set(lines)]
}

/** The four counts as text, the same everywhere. */
export function formatNumbers({ files, lines, exports, todo }: Numbers): string {
  return [
    formatCount(files, 'file'),
    formatCount(lines, 'line'),
    formatCount(exports, 'export'),
    formatCount(todo, todoMarker),
  ].join(', ')
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

function quotes(hits: SearchLine[], all: number, what: string): string[] {
  const listed = hits.slice(0, maxQuotes)
  return [
    ...listed.map(({ path, line, text }) => `${path}:${line}: ${text.trim()}`),
    ...more(all - listed.length, what),
  ]
}

function more(left: number, what: string): string[] {
  return left > 0 ? [`… more ${what}: ${left}`] : []
}
