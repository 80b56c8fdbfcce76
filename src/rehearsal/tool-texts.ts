/** Parsers of tool answers. An answer that cannot be parsed yields no number: nothing is made up. */

interface ListedFile {
  name: string
  bytes: number
}

export interface DirectoryListing {
  directories: string[]
  files: ListedFile[]
  /** Number of entries that were not listed. */
  more: number
  ignored: number
}

/** Parses an answer of `list_dir`; undefined when the call was refused. */
export function readListing(text: string): DirectoryListing | undefined {
  if (isRefused(text)) return undefined
  const listed: DirectoryListing = { directories: [], files: [], more: 0, ignored: 0 }
  for (const line of text.split('\n')) {
    const file = /^(.+) {2}(\d+) bytes$/.exec(line)
    const more = /^… \[cut: (?:over )?(\d+) more entries/.exec(line)
    const ignored = /^\[(?:.+: )?(\d+) ignored\]$/.exec(line)
    if (file) listed.files.push({ name: file[1] ?? '', bytes: Number(file[2]) })
    else if (more) listed.more = Number(more[1])
    else if (ignored) listed.ignored = Number(ignored[1])
    else if (line.endsWith('/')) listed.directories.push(line.slice(0, -1))
  }
  return listed
}

export interface SearchLine {
  path: string
  line: number
  text: string
}

export interface SearchText {
  matches: number
  files: number
  hits: SearchLine[]
  /** The tool's notes about files that were not searched. */
  notes: string[]
}

/** Parses an answer of `search_files` for text; undefined when the call was refused. */
export function readMatches(text: string): SearchText | undefined {
  if (isRefused(text)) return undefined
  const lines = text.split('\n')
  const total = lines.map((line) => /(\d+) match(?:es)? in (\d+) files?/.exec(line)).findLast((found) => found !== null)
  const hits = lines.flatMap((line): SearchLine[] => {
    const found = /^(.+?):(\d+): (.*)$/.exec(line)
    return found ? [{ path: found[1] ?? '', line: Number(found[2]), text: found[3] ?? '' }] : []
  })
  return { matches: Number(total?.[1] ?? 0), files: Number(total?.[2] ?? 0), hits, notes: notesIn(lines) }
}

// Not every line in brackets: file names may start with one.
const summaryLine = /^(?:\[\d+ files?\]|\[nothing found in .*\]|\[not searched: .*\]|… \[cut: .*\])$/

export interface FoundFiles {
  count: number
  paths: string[]
}

/** Parses an answer of `search_files` for names; undefined when the call was refused. */
export function readFiles(text: string): FoundFiles | undefined {
  if (isRefused(text)) return undefined
  const lines = text.split('\n')
  const total = lines.map((line) => /^(?:\[|… \[cut: )(\d+) files?\b/.exec(line)).findLast((found) => found !== null)
  const paths = lines.filter((line) => line !== '' && !summaryLine.test(line))
  return { count: Number(total?.[1] ?? 0) + unsearched(lines), paths }
}

/** Number of existing files that were not searched. */
function unsearched(lines: string[]): number {
  const parts = notesIn(lines).flatMap((note) => note.slice('not searched: '.length).split(', '))
  return parts.reduce((sum, part) => sum + Number(/^\d+/.exec(part)?.[0] ?? 0), 0)
}

/** Parses an answer of `read_file` into numbered lines; undefined when the call was refused. */
export function parseReadFile(text: string): { number: number; text: string }[] | undefined {
  if (isRefused(text)) return undefined
  return text.split('\n').flatMap((line) => {
    const found = /^(\d+)\t(.*)$/.exec(line)
    return found ? [{ number: Number(found[1]), text: found[2] ?? '' }] : []
  })
}

/** Total number of lines of a file, of which an answer of `read_file` shows the beginning. */
export function totalLines(text: string): number | undefined {
  const lines = parseReadFile(text)
  if (!lines) return undefined
  const more = /^… \[cut: (\d+) more lines/m.exec(text)
  const over = /^… \[cut: over /m.test(text)
  return over ? undefined : (lines.at(-1)?.number ?? 0) + Number(more?.[1] ?? 0)
}

/** Error message of a refused call. */
export function reasonIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'string' ? error : text
  } catch {
    return text
  }
}

/** Whether the call was refused or stopped halfway: partial counts are useless. */
function isRefused(text: string): boolean {
  return text.startsWith('{"status":') || /^\[the search was stopped after /m.test(text)
}

function notesIn(lines: string[]): string[] {
  return lines.filter((line) => line.startsWith('[not searched: ')).map((line) => line.slice(1, -1))
}
