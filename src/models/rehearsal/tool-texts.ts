/** What the tools answer, read back. Whatever cannot be read is no number: nothing is made up. */

export interface ListedFile {
  name: string
  bytes: number
}

export interface Listed {
  directories: string[]
  files: ListedFile[]
  /** Entries that were not told. */
  more: number
  ignored: number
}

/** Reads an answer of `list_dir`. Undefined when it was refused. */
export function readListing(text: string): Listed | undefined {
  if (isRefused(text)) return undefined
  const listed: Listed = { directories: [], files: [], more: 0, ignored: 0 }
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

export interface Hit {
  path: string
  line: number
  text: string
}

export interface Searched {
  matches: number
  files: number
  hits: Hit[]
  /** What was not searched, in the tool's words. */
  notes: string[]
}

/** Reads an answer of `search_files` that looked for text. Undefined when it was refused. */
export function readMatches(text: string): Searched | undefined {
  if (isRefused(text)) return undefined
  const lines = text.split('\n')
  const total = lines.map((line) => /(\d+) match(?:es)? in (\d+) files?/.exec(line)).findLast((found) => found !== null)
  const hits = lines.flatMap((line): Hit[] => {
    const found = /^(.+?):(\d+): (.*)$/.exec(line)
    return found ? [{ path: found[1] ?? '', line: Number(found[2]), text: found[3] ?? '' }] : []
  })
  return { matches: Number(total?.[1] ?? 0), files: Number(total?.[2] ?? 0), hits, notes: notesIn(lines) }
}

// Not every line in brackets: names may begin with them.
const summaryLine = /^(?:\[\d+ files?\]|\[nothing found in .*\]|\[not searched: .*\]|… \[cut: .*\])$/

export interface FoundFiles {
  count: number
  paths: string[]
}

/** Reads an answer of `search_files` that looked for names. Undefined when it was refused. */
export function readFiles(text: string): FoundFiles | undefined {
  if (isRefused(text)) return undefined
  const lines = text.split('\n')
  const total = lines.map((line) => /^(?:\[|… \[cut: )(\d+) files?\b/.exec(line)).findLast((found) => found !== null)
  const paths = lines.filter((line) => line !== '' && !summaryLine.test(line))
  return { count: Number(total?.[1] ?? 0) + unsearched(lines), paths }
}

/** Files that are there although nobody looked into them. */
function unsearched(lines: string[]): number {
  const parts = notesIn(lines).flatMap((note) => note.slice('not searched: '.length).split(', '))
  return parts.reduce((sum, part) => sum + Number(/^\d+/.exec(part)?.[0] ?? 0), 0)
}

/** Reads an answer of `read_file`: its lines by number. Undefined when there is no text to show. */
export function readLines(text: string): { number: number; text: string }[] | undefined {
  if (isRefused(text)) return undefined
  return text.split('\n').flatMap((line) => {
    const found = /^(\d+)\t(.*)$/.exec(line)
    return found ? [{ number: Number(found[1]), text: found[2] ?? '' }] : []
  })
}

/** How many lines a file has that an answer of `read_file` shows the beginning of. */
export function linesInAll(text: string): number | undefined {
  const lines = readLines(text)
  if (!lines) return undefined
  const more = /^… \[cut: (\d+) more lines/m.exec(text)
  const over = /^… \[cut: over /m.test(text)
  return over ? undefined : (lines.at(-1)?.number ?? 0) + Number(more?.[1] ?? 0)
}

/** What a refused call says, for people. */
export function reasonIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'string' ? error : text
  } catch {
    return text
  }
}

/** Refused, or stopped half way: what was counted until then is no number of anything. */
function isRefused(text: string): boolean {
  return text.startsWith('{"status":') || /^\[the search was stopped after /m.test(text)
}

function notesIn(lines: string[]): string[] {
  return lines.filter((line) => line.startsWith('[not searched: ')).map((line) => line.slice(1, -1))
}
