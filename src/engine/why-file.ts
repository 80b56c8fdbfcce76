import { join, relative, resolve } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { ProtectedPlaces } from '../domain/path-handle.ts'
import type { FileWhy, WhyLink, WhyNote } from '../domain/why.ts'
import type { KeptChange } from '../store/file-changes.ts'
import { changesOfFile } from '../store/provenance.ts'
import { findRun } from '../store/runs.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { namesOf } from './file-author.ts'
import { type FileNow, fileNow } from './file-now.ts'
import { FileContents, type FileState, type LineAuthor, replay } from './file-versions.ts'
import { givenTo, makersOf, sourceOf } from './given-results.ts'
import { preview } from './history.ts'
import { Journal } from './journal.ts'
import { moment, type Place, toolOf, walkBack } from './why-chain.ts'

/** Older changes are not gone through; what was there before them is told as such. */
const mostChanges = 500

/** A path as somebody wrote it, with the line that is meant. */
export interface FileReference {
  path: string
  line?: number
}

/** `REPORT.md`, `REPORT.md:12`; a column behind the line, as programs print it, is left out. */
export function fileReference(text: string): FileReference {
  const [, path, line] = /^(.+?):([1-9]\d{0,8})(?::\d+)?$/s.exec(text) ?? []
  return path === undefined ? { path: text } : { path, line: Number(line) }
}

/** A file as it is found: its changes, oldest first, and what lies there now. */
export interface FoundFile {
  shown: string
  /** Where it is, whatever it was called. */
  path: string
  changes: KeptChange[]
  now: FileNow
}

/** Finds a file by the name somebody gives it in a folder, whichever folder it was written from. */
export async function findFile(
  read: <T>(body: (rows: Reading) => Promise<T>) => Promise<T>,
  { path }: FileReference,
  folder: string,
  protect: ProtectedPlaces,
): Promise<FoundFile> {
  const named = resolve(folder, path)
  const changesAt = (whole: string) => read((rows) => changesOfFile(rows, namesOf(whole), mostChanges))
  const changes = await changesAt(named)
  const last = changes.at(-1)
  const address = last ? { folder: last.folder, path: last.path } : { folder, path }
  const now = await fileNow({ ...address, protect })
  const shown = shownFrom(folder, named)
  // A link may lead to a file that was written under its own name.
  const real = 'path' in now ? now.path : named
  const written = last ? join(last.folder, last.path) : real
  return { shown, path: written, now, changes: last || real === named ? changes : await changesAt(real) }
}

/** What was written when, and by whom: whoever read it since may have made something of it. */
export interface Written {
  path: string
  since: Millis
  writer: string | null
}

/** Why a file is as it is, or one line of it. */
export async function whyFile(
  rows: Reading,
  { line }: FileReference,
  { shown, path, changes, now }: FoundFile,
): Promise<{ chain: WhyLink[]; notes: WhyNote[]; file: FileWhy; written: Written }> {
  if (changes.length === 0 && now.kind === 'missing') throw noFile(shown)
  if (changes.length === 0 && now.kind !== 'file' && now.kind !== 'large') throw notAFile(shown, now)
  const content = now.kind === 'file' ? now : undefined
  const state = now.kind === 'large' ? undefined : await replay(new FileContents(rows), changes, content)
  const lines = state && (state.hash === null ? undefined : state)
  if (line !== undefined && !lines) throw noLines(shown, now, state)
  if (line !== undefined && lines && line > lines.lines.length) throw noSuchLine(shown, line, lines.lines.length)
  const text = line === undefined ? undefined : lines?.lines[line - 1]
  const standing = changes.filter(({ undoneAt, runId }) => undoneAt === null && runId !== null)
  // A change is kept before it is made: the last one may have been no more than meant.
  const last = standing.findLast(({ after }) => after === (content?.sha256 ?? null)) ?? standing.at(-1)
  const author = line === undefined ? last : lines?.authors[line - 1]
  const file: FileWhy = {
    path: shown,
    ...(line !== undefined && { line }),
    ...(text !== undefined && { text }),
    lines: lines ? lines.lines.length : null,
    ...(await writersOf(rows, lines)),
  }
  const first: WhyLink = {
    kind: 'file',
    id: line === undefined ? shown : `${shown}:${line}`,
    title: preview(text ?? shown),
    at: typeof author === 'object' ? moment(author.at) : null,
    how: 'asked about',
  }
  const isOutside = line === undefined ? lines?.authors.includes('outside') : author === 'outside'
  const notes = [
    ...authorNotes(author, shown, changes, line),
    ...stateNotes(now, last, lines, line),
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

/** The call that made a change; the chain goes on with the result that the line is from, if one stands out. */
async function writerOf(rows: Reading, { runId, callId, at }: KeptChange, text: string | undefined): Promise<Place> {
  const run = await findRun(rows, runId ?? '')
  const tool = await toolOf(rows, runId ?? '', callId ?? '')
  const given = run && text !== undefined ? await makersOf(rows, await givenTo(rows, run)) : []
  const source = sourceOf(
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
  shown: string,
  changes: readonly KeptChange[],
  line: number | undefined,
): WhyNote[] {
  const what = line === undefined ? shown : `line ${line}`
  const text = {
    outside: `${what} was changed outside heddle: no recorded version has it`,
    before: `${what} was there before heddle wrote to ${shown}`,
    unknown: `nobody knows who wrote ${what}: what the file held in between is not kept`,
  }
  if (changes.length === 0) return [note(`heddle never wrote ${shown}: no run has changed it`)]
  if (typeof author === 'string') return [note(text[author])]
  return author === undefined ? [note(`every change that heddle made to ${shown} was undone`)] : []
}

/** How the disk differs from what was written last. */
function stateNotes(
  now: FileNow,
  last: KeptChange | undefined,
  state: FileState | undefined,
  line: number | undefined,
): WhyNote[] {
  if (!last) return []
  if (now.kind === 'large')
    return [note(`it has ${now.size} bytes: its lines are not told apart, this is its last change`)]
  if (now.kind !== 'file') return last.after === null ? [] : [note('it is not there any more: removed outside heddle')]
  if (!state) return [note('it is binary: its lines are not told apart, this is its last change')]
  if (now.sha256 === last.after || line !== undefined) return []
  const outside = state.authors.flatMap((author, at) => (author === 'outside' ? at + 1 : []))
  const which = outside.length === 0 ? 'lines were only taken away' : `lines ${ranges(outside)}`
  return [note(`it was changed outside heddle since run:${tail(last.runId ?? '')}: ${which}`)]
}

/** So many of the last runs that wrote a file are asked what their commands did to it. */
const mostCommanders = 10

/** Commands of its writers that were seen to touch it: what they changed in it nobody knows. */
async function commandNotes(rows: Reading, changes: readonly KeptChange[]): Promise<WhyNote[]> {
  const notes: WhyNote[] = []
  const runIds = new Set(changes.flatMap(({ runId }) => runId ?? []))
  const paths = [...new Set(changes.map(({ folder, path }) => join(folder, path)))]
  for (const runId of [...runIds].slice(-mostCommanders)) {
    const { touches } = new Journal(runId, await readSteps(rows, runId))
    const touch = touches.findLast((each) => paths.some((path) => each.paths.has(path)))
    if (touch) notes.push({ ...note(`run:${tail(runId)} changed the file ${touch.by}, too`), ref: `run:${runId}` })
  }
  return notes
}

const mostRanges = 8

/** `1-3, 7`. */
function ranges(numbers: number[]): string {
  const spans: [number, number][] = []
  for (const each of numbers) {
    const last = spans.at(-1)
    if (last && last[1] === each - 1) last[1] = each
    else spans.push([each, each])
  }
  const told = spans.slice(0, mostRanges).map(([from, to]) => (from === to ? String(from) : `${from}-${to}`))
  return [...told, ...(spans.length > mostRanges ? [`and ${spans.length - mostRanges} more places`] : [])].join(', ')
}

function note(text: string): WhyNote {
  return { topic: 'note', text, at: null }
}

function shownFrom(folder: string, whole: string): string {
  const below = relative(folder, whole)
  return below === '' || below.startsWith('..') ? whole : below
}

function noFile(shown: string): HeddleError {
  return new HeddleError(
    'not_found',
    `there is no file "${shown}" here, and heddle never wrote one`,
    'write its path from this folder on, such as heddle why REPORT.md:12',
  )
}

function notAFile(shown: string, { kind }: FileNow): HeddleError {
  const why =
    kind === 'outside' ? 'lies outside this folder' : kind === 'directory' ? 'is a directory' : 'is not a file'
  const remedy = kind === 'outside' ? 'run the command in the folder that holds it' : 'name a file in it'
  return new HeddleError('not_a_file', `${shown} ${why}`, remedy)
}

function noLines(shown: string, now: FileNow, state: FileState | undefined): HeddleError {
  const [why, code] =
    now.kind === 'large'
      ? [`has ${now.size} bytes, more than heddle looks through`, 'too_large']
      : state
        ? ['is not there any more', 'not_found']
        : ['is binary', 'binary']
  return new HeddleError(
    code,
    `${shown} ${why}: it has no lines to ask about`,
    `ask about all of it: heddle why ${shown}`,
  )
}

function noSuchLine(shown: string, line: number, lines: number): HeddleError {
  return new HeddleError(
    'not_found',
    `${shown} has ${lines} ${lines === 1 ? 'line' : 'lines'}: there is no line ${line}`,
    lines === 0 ? `ask about all of it: heddle why ${shown}` : `heddle why ${shown}:${lines} is the last`,
  )
}
