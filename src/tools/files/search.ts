import type { Kind, OpenFile, PathAddress, PathHandle } from '../../domain/tools/path-handle.ts'
import { hashOf } from './content-hash.ts'
import { type Glob, matchesGlob, readGlob } from './glob.ts'
import { syncHandle } from './handle.ts'
import { type IgnoreRules, ignoreRulesAt } from './ignore.ts'
import { decodeText } from './text-kind.ts'

/** A search. */
export interface Search {
  at: PathAddress
  /** Empty: finds the files themselves. */
  pattern: string
  isRegex: boolean
  glob?: string
}

/** Matches in one file. */
export interface FileMatches {
  path: string
  /** Number of matching lines. */
  matches: number
  /** The first of them; empty once enough lines were found. */
  lines: { number: number; text: string }[]
  /** Hash of the whole content. */
  sha256: string
}

/** Number of files searched and skipped. */
export interface SearchScope {
  files: number
  binary: number
  tooLarge: number
  unreadable: number
}

export const largestFile = 8_000_000
const maxLines = 100
const maxLineLength = 300
// Max globs that one with alternatives expands to.
const maxAlternatives = 100

/**
 * Searches files in path order and reports each match. Runs in a worker thread: a pattern may never end.
 */
export async function search(wanted: Search, onMatch: (found: FileMatches) => void): Promise<SearchScope> {
  const scope: SearchScope = { files: 0, binary: 0, tooLarge: 0, unreadable: 0 }
  const matches = matcherOf(wanted)
  let room = maxLines
  for await (const handle of filesOf(wanted, scope)) {
    const content = await handle.openFile(readText).catch(() => 'unreadable' as const)
    if (typeof content === 'string') {
      scope[content]++
      continue
    }
    scope.files++
    const found = matches(content.text, room)
    room -= found.lines.length
    if (found.matches > 0 || wanted.pattern === '')
      onMatch({ path: handle.shown, sha256: hashOf(content.bytes), ...found })
  }
  return scope
}

type Matcher = (text: string, room: number) => Omit<FileMatches, 'path' | 'sha256'>

function matcherOf({ pattern, isRegex }: Search): Matcher {
  const none = { matches: 0, lines: [] }
  if (pattern === '') return () => none
  const regex = isRegex ? readRegex(pattern) : undefined
  return (text, room) => {
    // Most files do not contain it at all.
    if (!regex && !text.includes(pattern)) return none
    const lines: FileMatches['lines'] = []
    let matches = 0
    for (const [number, line] of numberedLines(text)) {
      const at = regex ? (regex.exec(line)?.index ?? -1) : line.indexOf(pattern)
      if (at === -1) continue
      if (++matches <= room) lines.push({ number, text: cutAround(line, at) })
    }
    return { matches, lines }
  }
}

function* numberedLines(text: string): Iterable<[number, string]> {
  for (let from = 0, number = 1; from < text.length; number++) {
    const found = text.indexOf('\n', from)
    const end = found === -1 ? text.length : found
    yield [number, text.slice(from, text[end - 1] === '\r' ? end - 1 : end)]
    from = end + 1
  }
}

/** Parses a regular expression; flags may precede it, as in `(?i)name`. */
export function readRegex(pattern: string): RegExp {
  const [head = '', flags = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? []
  return new RegExp(pattern.slice(head.length), flags)
}

/** The part of a line that shows the match. */
function cutAround(line: string, at: number): string {
  if (line.length <= maxLineLength) return line
  const from = Math.max(0, Math.min(at - 60, line.length - maxLineLength))
  const part = line.slice(from, from + maxLineLength).toWellFormed()
  return `${from > 0 ? '…' : ''}${part}${from + maxLineLength < line.length ? '…' : ''}`
}

/** Files to search that match the glob, in path order. */
async function* filesOf({ at, glob }: Search, scope: SearchScope): AsyncIterable<PathHandle> {
  const start = syncHandle(at)
  const status = await start.stat()
  if (status.kind === 'file') return yield start
  const globs = glob === undefined ? undefined : alternatives(glob).flatMap((each) => readGlob(each) ?? [])
  const { directory, ...top } = await start.openDirectory(async (directory) => ({
    directory,
    ignoring: await ignoreRulesAt(syncHandle({ ...at, path: '.' }), directory),
    entries: await entriesOf(directory.entries()),
  }))
  const selects = (names: string[]) => !globs || isSelected(globs, names, directory.names.length)
  yield* filesBelow({ ...top, at: directory.at, names: directory.names }, selects, scope)
}

interface Level {
  names: string[]
  entries: { name: string; kind: Kind }[]
  ignoring: IgnoreRules
  at(name: string): PathHandle
}

async function* filesBelow(
  { names, entries, ignoring, at }: Level,
  selects: (names: string[]) => boolean,
  scope: SearchScope,
): AsyncIterable<PathHandle> {
  for (const { name, kind } of entries) {
    // Links are not followed: a target inside the folder is found at its own path.
    if ((kind !== 'file' && kind !== 'directory') || ignoring.hides(name, kind === 'directory')) continue
    const path = [...names, name]
    if (kind === 'file') {
      if (selects(path)) yield at(name)
      continue
    }
    const level = await at(name)
      .openDirectory(async (directory) => ({
        names: path,
        entries: await entriesOf(directory.entries()),
        ignoring: await ignoring.below(name, directory),
        at: directory.at,
      }))
      .catch(() => undefined)
    if (level) yield* filesBelow(level, selects, scope)
    else scope.unreadable++
  }
}

/** Sorted in path order: a directory counts with its trailing slash. */
async function entriesOf(found: AsyncIterable<Level['entries'][number]>): Promise<Level['entries']> {
  const entries: (Level['entries'][number] & { key: string })[] = []
  for await (const entry of found)
    entries.push({ ...entry, key: entry.kind === 'directory' ? `${entry.name}/` : entry.name })
  return entries.sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Globs match relative to the folder or to the start of the search. */
function isSelected(globs: Glob[], names: string[], start: number): boolean {
  return globs.some((glob) => matchesGlob(glob, names) || matchesGlob(glob, names.slice(start)))
}

/** `a.{ts,tsx}` as `a.ts` and `a.tsx`. */
function alternatives(glob: string): string[] {
  let globs = [glob]
  for (;;) {
    const next = globs.flatMap((each) => {
      const [whole, inside = ''] = /\{([^{}]*)\}/.exec(each) ?? []
      return whole === undefined ? [each] : inside.split(',').map((part) => each.replace(whole, () => part))
    })
    if (next.length === globs.length || next.length > maxAlternatives) return globs
    globs = next
  }
}

async function readText(file: OpenFile): Promise<{ text: string; bytes: Buffer } | 'binary' | 'tooLarge'> {
  if (file.bytes > largestFile) return 'tooLarge'
  const into = Buffer.allocUnsafe(file.bytes)
  const bytes = into.subarray(0, await file.read(into, 0))
  const text = decodeText(bytes)
  return text === undefined ? 'binary' : { text, bytes }
}
