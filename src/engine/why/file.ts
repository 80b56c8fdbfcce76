import { join, relative, resolve } from 'node:path'
import type { FileWhy, WhyLink, WhyNote } from '../../api/views/why.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { tail } from '../../domain/id.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { StoredFileChange } from '../../store/rows/file-changes.ts'
import { changesOfFile } from '../../store/rows/provenance.ts'
import { findRun } from '../../store/rows/runs.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import { namesInFolders } from '../files/file-author.ts'
import { type FileNow, fileNow } from '../files/file-now.ts'
import { lossLines, lostWrites } from '../files/lost-writes.ts'
import { Journal } from '../run/context/journal.ts'
import { preview } from '../turns/history.ts'
import { type ChainNode, moment, toolOf, walkBack } from './chain.ts'
import { FileContents, type FileState, type LineAuthor, replay } from './file-versions.ts'
import { likelySource, resultsGivenTo, resultsWithRuns } from './given-results.ts'

/** Max changes that are replayed; older lines count as `before`. */
const maxChanges = 500

/** A path as the user wrote it, with an optional line. */
export interface FileReference {
  path: string
  line?: number
  /** A number behind the line: the column, as compilers print it. */
  column?: number
}

/** Parses `REPORT.md`, `REPORT.md:12` or `REPORT.md:12:3`. */
export function fileReference(text: string): FileReference {
  const [, path, line, column] = /^(.+?):([1-9]\d{0,8})(?::(\d{1,9}))?$/s.exec(text) ?? []
  if (path === undefined) return { path: text }
  return { path, line: Number(line), ...(column !== undefined && { column: Number(column) }) }
}

/** A file with its changes, oldest first, and its current state. */
interface FileHistory {
  displayPath: string
  /** Absolute path, with links resolved. */
  path: string
  changes: StoredFileChange[]
  now: FileNow
}

/** Finds a file by its path in a folder, whichever session's folder it was written from. */
export async function findFile(
  read: <T>(body: (rows: Reading) => Promise<T>) => Promise<T>,
  { path }: FileReference,
  folder: string,
  protect: ProtectedPlaces,
): Promise<FileHistory> {
  const target = resolve(folder, path)
  const changesAt = (whole: string) => read((rows) => changesOfFile(rows, namesInFolders(whole), maxChanges))
  const changes = await changesAt(target)
  const last = changes.at(-1)
  const address = last ? { folder: last.folder, path: last.path } : { folder, path }
  const now = await fileNow({ ...address, protect })
  const displayPath = displayPathFrom(folder, target)
  // A link may lead to a file that was written under its own name.
  const real = 'path' in now ? now.path : target
  const written = last ? join(last.folder, last.path) : real
  return { displayPath, path: written, now, changes: last || real === target ? changes : await changesAt(real) }
}

/** When and by which run a file was written: runs that read it since may depend on it. */
export interface FileWrite {
  path: string
  since: Millis
  writer: string | null
}

/** Why a file is as it is, or one line of it. */
export async function whyFile(
  rows: Reading,
  { line }: FileReference,
  { displayPath, path, changes, now }: FileHistory,
): Promise<{ chain: WhyLink[]; notes: WhyNote[]; file: FileWhy; written: FileWrite }> {
  if (changes.length === 0 && now.kind === 'missing') throw noFile(displayPath)
  if (changes.length === 0 && now.kind !== 'file' && now.kind !== 'large') throw notAFile(displayPath, now)
  const content = now.kind === 'file' ? now : undefined
  const state = now.kind === 'large' ? undefined : await replay(new FileContents(rows), changes, content)
  const lines = state && (state.hash === null ? undefined : state)
  if (line !== undefined && !lines) throw noLines(displayPath, now, state)
  if (line !== undefined && lines && line > lines.lines.length) throw noSuchLine(displayPath, line, lines.lines.length)
  const text = line === undefined ? undefined : lines?.lines[line - 1]
  const standing = changes.filter(({ undoneAt, runId }) => undoneAt === null && runId !== null)
  // A change is stored before it is made: the last one may never have happened.
  const last = standing.findLast(({ after }) => after === (content?.sha256 ?? null)) ?? standing.at(-1)
  const author = line === undefined ? last : lines?.authors[line - 1]
  const file: FileWhy = {
    path: displayPath,
    ...(line !== undefined && { line }),
    ...(text !== undefined && { text }),
    lines: lines ? lines.lines.length : null,
    ...(await writersOf(rows, lines)),
  }
  const first: WhyLink = {
    kind: 'file',
    id: line === undefined ? displayPath : `${displayPath}:${line}`,
    title: preview(text ?? displayPath),
    at: typeof author === 'object' ? moment(author.at) : null,
    how: 'asked about',
  }
  const isOutside = line === undefined ? lines?.authors.includes('outside') : author === 'outside'
  const notes = [
    ...authorNotes(author, displayPath, changes, line),
    ...stateNotes(now, last, lines, line),
    ...(line === undefined ? await lossNotes(rows, changes, content?.sha256 ?? null) : []),
    ...(isOutside ? await commandNotes(rows, changes) : []),
  ]
  const change = typeof author === 'object' ? author : undefined
  const chain = change ? await walkBack(rows, await writerOf(rows, change, text)) : []
  const origin = line === undefined ? standing[0] : change
  return {
    chain: [first, ...chain],
    notes,
    file,
    written: { path, since: origin?.at ?? 0, writer: origin?.runId ?? null },
  }
}

/** Node of the call that made a change; next comes the result that the line is from, if one stands out. */
async function writerOf(
  rows: Reading,
  { runId, callId, at }: StoredFileChange,
  text: string | undefined,
): Promise<ChainNode> {
  const run = await findRun(rows, runId ?? '')
  const tool = await toolOf(rows, runId ?? '', callId ?? '')
  const given = run && text !== undefined ? await resultsWithRuns(rows, await resultsGivenTo(rows, run)) : []
  const source = likelySource(
    text ?? '',
    given.map(({ result }) => result),
  )
  return {
    kind: 'run',
    id: runId ?? '',
    how: 'written by',
    facts: { at: moment(at), ...(tool !== undefined && { tool }), ...(callId !== null && { callId }) },
    ...(source && { next: { kind: 'result' as const, id: String(source.id), how: 'from' as const } }),
  }
}

async function writersOf(rows: Reading, state: FileState | undefined): Promise<Pick<FileWhy, 'writers' | 'others'>> {
  const counts = new Map<string, number>()
  for (const author of state?.authors ?? [])
    if (typeof author === 'object') counts.set(author.runId ?? '', (counts.get(author.runId ?? '') ?? 0) + 1)
  const writers: FileWhy['writers'] = []
  for (const [runId, lines] of [...counts].sort(([, a], [, b]) => b - a))
    writers.push({ runId, agent: (await findRun(rows, runId))?.agent ?? null, lines })
  const others = (state?.authors ?? []).filter((author) => typeof author === 'string').length
  return { writers, others }
}

function authorNotes(
  author: LineAuthor | undefined,
  displayPath: string,
  changes: readonly StoredFileChange[],
  line: number | undefined,
): WhyNote[] {
  const what = line === undefined ? displayPath : `line ${line}`
  const text = {
    outside: `${what} was changed outside heddle: no recorded version has it`,
    before: `${what} was there before heddle wrote to ${displayPath}`,
    unknown: `unknown author of ${what}: versions in between are missing`,
  }
  if (changes.length === 0) return [note(`heddle never wrote ${displayPath}: no run has changed it`)]
  if (typeof author === 'string') return [note(text[author])]
  return author === undefined ? [note(`every change that heddle made to ${displayPath} was undone`)] : []
}

/** Notes on how the disk differs from the last recorded version. */
function stateNotes(
  now: FileNow,
  last: StoredFileChange | undefined,
  state: FileState | undefined,
  line: number | undefined,
): WhyNote[] {
  if (!last) return []
  if (now.kind === 'large') return [note(`too large (${now.size} bytes) to trace lines; showing its last change`)]
  if (now.kind !== 'file') return last.after === null ? [] : [note('it no longer exists: removed outside heddle')]
  if (!state) return [note('it is binary, so lines cannot be traced; showing its last change')]
  if (now.sha256 === last.after || line !== undefined) return []
  const outside = state.authors.flatMap((author, at) => (author === 'outside' ? at + 1 : []))
  const which = outside.length === 0 ? 'lines were only taken away' : `lines ${ranges(outside)}`
  return [note(`it was changed outside heddle since run:${tail(last.runId ?? '')}: ${which}`)]
}

/** Notes on lost writes, except those whose version is on the disk again. */
async function lossNotes(rows: Reading, changes: readonly StoredFileChange[], now: string | null): Promise<WhyNote[]> {
  const lost = (await lostWrites(rows, changes)).filter((each) => each.lost.change.after !== now)
  return lossLines(lost).map(note)
}

/** Max runs, of the last that wrote a file, whose commands are checked. */
const maxCommandRuns = 10

/** Notes on commands of its writers that touched the file; what they changed is not recorded. */
async function commandNotes(rows: Reading, changes: readonly StoredFileChange[]): Promise<WhyNote[]> {
  const notes: WhyNote[] = []
  const runIds = new Set(changes.flatMap(({ runId }) => runId ?? []))
  const paths = [...new Set(changes.map(({ folder, path }) => join(folder, path)))]
  for (const runId of [...runIds].slice(-maxCommandRuns)) {
    const { touches } = new Journal(runId, await readSteps(rows, runId))
    const touch = touches.findLast((each) => paths.some((path) => each.paths.has(path)))
    if (touch) notes.push({ ...note(`run:${tail(runId)} changed the file ${touch.by}, too`), ref: `run:${runId}` })
  }
  return notes
}

const maxRanges = 8

/** Formats numbers as `1-3, 7`. */
function ranges(numbers: number[]): string {
  const spans: [number, number][] = []
  for (const each of numbers) {
    const last = spans.at(-1)
    if (last && last[1] === each - 1) last[1] = each
    else spans.push([each, each])
  }
  const listed = spans.slice(0, maxRanges).map(([from, to]) => (from === to ? String(from) : `${from}-${to}`))
  return [...listed, ...(spans.length > maxRanges ? [`and ${spans.length - maxRanges} more places`] : [])].join(', ')
}

function note(text: string): WhyNote {
  return { topic: 'note', text, at: null }
}

function displayPathFrom(folder: string, whole: string): string {
  const below = relative(folder, whole)
  return below === '' || below.startsWith('..') ? whole : below
}

function noFile(displayPath: string): HeddleError {
  return new HeddleError(
    'not_found',
    `there is no file "${displayPath}" here, and heddle never wrote one`,
    'write its path relative to this folder, such as heddle why REPORT.md:12',
  )
}

function notAFile(displayPath: string, { kind }: FileNow): HeddleError {
  const why = kind === 'outside' ? 'is outside this folder' : kind === 'directory' ? 'is a directory' : 'is not a file'
  const remedy = kind === 'outside' ? 'run the command in the folder that holds it' : 'name a file in it'
  return new HeddleError('not_a_file', `${displayPath} ${why}`, remedy)
}

function noLines(displayPath: string, now: FileNow, state: FileState | undefined): HeddleError {
  const [why, code] =
    now.kind === 'large'
      ? [`has ${now.size} bytes, more than heddle reads`, 'too_large']
      : state
        ? ['no longer exists', 'not_found']
        : ['is binary', 'binary']
  return new HeddleError(
    code,
    `${displayPath} ${why}: it has no lines to ask about`,
    `ask about all of it: heddle why ${displayPath}`,
  )
}

function noSuchLine(displayPath: string, line: number, lines: number): HeddleError {
  return new HeddleError(
    'not_found',
    `${displayPath} has ${lines} ${lines === 1 ? 'line' : 'lines'}: there is no line ${line}`,
    lines === 0 ? `ask about all of it: heddle why ${displayPath}` : `heddle why ${displayPath}:${lines} is the last`,
  )
}
