import type { Kind, OpenFile, PathAddress, PathHandle } from '../domain/path-handle.ts'
import { type Glob, matchesGlob, readGlob } from './glob.ts'
import { directHandle } from './handle.ts'
import { type Ignoring, ignoringAt } from './ignore.ts'
import { textOf } from './text-kind.ts'

/** What is looked for, and where. */
export interface Search {
  at: PathAddress
  /** Empty: the files themselves are looked for. */
  pattern: string
  isRegex: boolean
  glob?: string
}

/** A file that has what is looked for. */
export interface FoundFile {
  path: string
  /** Lines that match. */
  matches: number
  /** The first of them; none where only the number counts by now. */
  lines: { number: number; text: string }[]
}

/** How much was looked at. */
export interface Searched {
  files: number
  binary: number
  tooLarge: number
  unreadable: number
}

export const largestFile = 8_000_000
const mostLines = 100
const widestLine = 300
// A glob with alternatives stands for several; more than these nobody writes by hand.
const mostAlternatives = 100

/**
 * Looks through files in the order of their paths and tells of each that has what is looked for. Meant for a thread of
 * its own: a pattern may take for ever.
 */
export async function search(wanted: Search, tell: (found: FoundFile) => void): Promise<Searched> {
  const searched: Searched = { files: 0, binary: 0, tooLarge: 0, unreadable: 0 }
  const matches = matcherOf(wanted)
  let room = mostLines
  for await (const handle of filesOf(wanted, searched)) {
    const content = await handle.openFile(contentOf).catch(() => 'unreadable' as const)
    if (typeof content === 'string') {
      searched[content]++
      continue
    }
    searched.files++
    const found = matches(content.text, room)
    room -= found.lines.length
    if (found.matches > 0 || wanted.pattern === '') tell({ path: handle.shown, ...found })
  }
  return searched
}

type Matching = (text: string, room: number) => Omit<FoundFile, 'path'>

function matcherOf({ pattern, isRegex }: Search): Matching {
  const none = { matches: 0, lines: [] }
  if (pattern === '') return () => none
  const regex = isRegex ? readRegex(pattern) : undefined
  return (text, room) => {
    // Most files do not have it at all.
    if (!regex && !text.includes(pattern)) return none
    const lines: FoundFile['lines'] = []
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

/** A regular expression; flags may be written in front of it, as in `(?i)name`. */
export function readRegex(pattern: string): RegExp {
  const [head = '', flags = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? []
  return new RegExp(pattern.slice(head.length), flags)
}

/** The part of a line that shows the match. */
function cutAround(line: string, at: number): string {
  if (line.length <= widestLine) return line
  const from = Math.max(0, Math.min(at - 60, line.length - widestLine))
  const part = line.slice(from, from + widestLine).toWellFormed()
  return `${from > 0 ? '…' : ''}${part}${from + widestLine < line.length ? '…' : ''}`
}

/** Files below what is looked at, in the order of their paths, that the glob selects. */
async function* filesOf({ at, glob }: Search, searched: Searched): AsyncIterable<PathHandle> {
  const start = directHandle(at)
  const sight = await start.look()
  if (sight.kind === 'file') return yield start
  const globs = glob === undefined ? undefined : alternatives(glob).flatMap((each) => readGlob(each) ?? [])
  const { directory, ...top } = await start.openDirectory(async (directory) => ({
    directory,
    ignoring: await ignoringAt(directHandle({ ...at, path: '.' }), directory),
    entries: await entriesOf(directory.entries()),
  }))
  const selects = (names: string[]) => !globs || isSelected(globs, names, directory.names.length)
  yield* filesBelow({ ...top, at: directory.at, names: directory.names }, selects, searched)
}

interface Level {
  names: string[]
  entries: { name: string; kind: Kind }[]
  ignoring: Ignoring
  at(name: string): PathHandle
}

async function* filesBelow(
  { names, entries, ignoring, at }: Level,
  selects: (names: string[]) => boolean,
  searched: Searched,
): AsyncIterable<PathHandle> {
  for (const { name, kind } of entries) {
    // Links are not followed: what they lead to inside the folder is found in its own place.
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
    if (level) yield* filesBelow(level, selects, searched)
    else searched.unreadable++
  }
}

/** In the order that their paths have: a directory counts with the slash that follows it. */
async function entriesOf(found: AsyncIterable<Level['entries'][number]>): Promise<Level['entries']> {
  const entries: (Level['entries'][number] & { key: string })[] = []
  for await (const entry of found)
    entries.push({ ...entry, key: entry.kind === 'directory' ? `${entry.name}/` : entry.name })
  return entries.sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Globs count from the folder on and from where the search began. */
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
    if (next.length === globs.length || next.length > mostAlternatives) return globs
    globs = next
  }
}

async function contentOf(file: OpenFile): Promise<{ text: string } | 'binary' | 'tooLarge'> {
  if (file.bytes > largestFile) return 'tooLarge'
  const bytes = Buffer.allocUnsafe(file.bytes)
  const text = textOf(bytes.subarray(0, await file.read(bytes, 0)))
  return text === undefined ? 'binary' : { text }
}
