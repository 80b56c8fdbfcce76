import { join, relative, resolve } from 'node:path'
import type { FileWhy, WhyHow, WhyLink, WhyNote } from '../../api/views/why.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { PathAddress, ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { type FileVersion, versionsOfFile } from '../../store/rows/files/file-versions.ts'
import { findRun } from '../../store/rows/runs.ts'
import type { Reading } from '../../store/store.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { namesInFolders } from '../files/file-author.ts'
import { type FileNow, fileNow } from '../files/file-now.ts'
import { lossLines, lostWrites } from '../files/lost-writes.ts'
import { linesIn } from '../files/match-lines.ts'
import { preview } from '../turns/history.ts'
import { type ChainNode, moment, starterOf, toolOf, walkBack } from './chain.ts'
import { FileContents } from './file-contents.ts'
import { quotedSource, resultsGivenTo, resultsWithRuns } from './given-results.ts'
import { maxVersions } from './known-versions.ts'
import { LineTracer } from './line-authors.ts'
import type { LineAuthor, LineTransfer, TracedLine } from './traced-line.ts'

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

/** A file with its versions, oldest first, and its current state. */
interface FileHistory {
  displayPath: string
  /** Absolute path, with links resolved. */
  path: string
  versions: FileVersion[]
  now: FileNow
}

/** Where a file is read: in the folder of the session that last wrote it, else in this one. */
export async function addressOf(rows: Reading, { path }: FileReference, context: FileContext): Promise<PathAddress> {
  const [last] = await versionsOfFile(rows, namesInFolders(resolve(context.folder, path)), 1)
  return { path, ...context, ...(last && { folder: last.folder, path: last.path }) }
}

/** Finds a file by its path in a folder, whichever session's folder it was written from. */
export async function findFile(rows: Reading, { path }: FileReference, context: FileContext): Promise<FileHistory> {
  const { folder } = context
  const target = resolve(folder, path)
  const versionsAt = (whole: string) => versionsOfFile(rows, namesInFolders(whole), maxVersions)
  const versions = await versionsAt(target)
  const last = versions.at(-1)
  const now = await fileNow({ path, ...context, ...(last && { folder: last.folder, path: last.path }) })
  const displayPath = displayPathFrom(folder, target)
  // A link may lead to a file that was written under its own name.
  const real = 'path' in now ? now.path : target
  if (real !== target) return { displayPath, path: real, now, versions: await versionsAt(real) }
  return { displayPath, path: last ? join(last.folder, last.path) : real, now, versions }
}

/** When and by which run a file was written: runs that read it later may depend on it. */
export interface FileWrite {
  path: string
  since: Millis
  writer: string | null
}

/** Where a file is looked up, and what may not be read. */
interface FileContext {
  folder: string
  protect: ProtectedPlaces
}

/** Why a file is as it is, or one line of it. */
export async function whyFile(
  rows: Reading,
  { line }: FileReference,
  { displayPath, path, versions: seen, now }: FileHistory,
  context: FileContext,
): Promise<{ chain: WhyLink[]; notes: WhyNote[]; file: FileWhy; written: FileWrite }> {
  const versions = seen.filter(({ found }) => !found)
  if (versions.length === 0 && now.kind === 'missing') throw noFile(displayPath)
  if (versions.length === 0 && now.kind !== 'file' && now.kind !== 'large') throw notAFile(displayPath, now)
  const content = now.kind === 'file' ? now : undefined
  const lines = content && textLines(content.bytes)
  if (line !== undefined && !lines) throw noLines(displayPath, now)
  if (line !== undefined && lines && line > lines.length) throw noSuchLine(displayPath, line, lines.length)
  const contents = new FileContents(rows)
  if (content) contents.add(content.sha256, content.bytes)
  const tracer = new LineTracer(rows, contents, context.protect)
  // The last change by the user or another program may have been made at any time until now.
  const end = { hash: content?.sha256 ?? null, at: Number.MAX_SAFE_INTEGER }
  const onDisk = content && { ...content.times, ...(content.links > 1 && { hasOtherNames: true as const }) }
  const traced = lines ? await tracer.trace({ path, versions: seen, end, ...onDisk }, [...lines.keys()]) : []
  const text = line === undefined ? undefined : lines?.[line - 1]
  const effective = versions.filter(({ undoneAt, runId }) => undoneAt === null && runId !== null)
  // A change is stored before it is made: the last one may never have happened.
  const last = effective.findLast(({ after }) => after === (content?.sha256 ?? null)) ?? effective.at(-1)
  const asked = line === undefined ? undefined : traced[line - 1]
  const origin = line === undefined ? last : versionOf(asked)
  const file: FileWhy = {
    path: displayPath,
    ...(line !== undefined && { line }),
    ...(text !== undefined && { text }),
    ...(asked && { author: authorView(asked.author) }),
    lines: lines ? lines.length : null,
    ...(await writersOf(rows, traced)),
  }
  const first: WhyLink = {
    kind: 'file',
    id: line === undefined ? displayPath : `${displayPath}:${line}`,
    title: preview(text ?? displayPath),
    at: origin ? moment(origin.at) : null,
    how: 'asked about',
  }
  const about = { displayPath, line, versions, traced }
  const notes = [
    ...(asked ? lineNotes(asked, about, context.folder) : wholeNotes(about)),
    ...stateNotes(now, last, about),
    ...(line === undefined ? await lossNotes(rows, versions, content?.sha256 ?? null) : []),
  ]
  const chain = [
    ...(await transferLinks(rows, asked?.transfers ?? [], context.folder)),
    ...(line === undefined && versions.length === 0 ? manualLinks(traced, context.folder) : []),
    ...(origin ? await writerChain(rows, origin, text) : []),
  ]
  const written = line === undefined ? effective[0] : origin
  return {
    chain: [first, ...chain],
    notes,
    file,
    written: { path, since: written?.at ?? 0, writer: written?.runId ?? null },
  }
}

/** Lines of a text; undefined if it is none. */
function textLines(bytes: Buffer): string[] | undefined {
  const text = decodeText(bytes)
  return text === undefined ? undefined : linesIn(text)
}

function versionOf(traced: TracedLine | undefined): FileVersion | undefined {
  return traced?.author.by === 'version' ? traced.author.version : undefined
}

function authorView(author: LineAuthor): NonNullable<FileWhy['author']> {
  if (author.by === 'version') return { by: 'run', runId: author.version.runId ?? '' }
  if (author.by === 'unknown') return { by: 'unknown', since: moment(author.since ?? undefined), runIds: author.runIds }
  return { by: author.by }
}

/** Links of the moves and copies of a line: the command, and the file that it comes from. */
async function transferLinks(rows: Reading, transfers: readonly LineTransfer[], folder: string): Promise<WhyLink[]> {
  const links: WhyLink[] = []
  for (const { how, path, line, version } of transfers) {
    if (version) {
      const node: ChainNode = { ...(await commandNode(rows, version)), how: how === 'moved' ? 'moved by' : 'copied by' }
      links.push(...(await walkBack(rows, node)).slice(0, 1))
    }
    const name = `${displayPathFrom(folder, path)}:${line}`
    links.push({ kind: 'file', id: name, title: name, at: version ? moment(version.at) : null, how: howFrom(how) })
  }
  return links
}

/** Link of the file that the user or another program moved or copied the whole file from. */
function manualLinks(traced: readonly TracedLine[], folder: string): WhyLink[] {
  const [first] = traced.flatMap(({ transfers }) => transfers.slice(0, 1))
  if (!first || !traced.every(({ transfers: [each] }) => !each || each.path === first.path)) return []
  const name = displayPathFrom(folder, first.path)
  return [{ kind: 'file', id: name, title: name, at: null, how: howFrom(first.how) }]
}

function howFrom(how: LineTransfer['how']): WhyHow {
  return how === 'moved' ? 'moved from' : how === 'copied' ? 'copied from' : how
}

/** From the call that made a change back to the user's words: by the result that the line quotes, and by who asked for the file. */
async function writerChain(rows: Reading, version: FileVersion, text: string | undefined): Promise<WhyLink[]> {
  const writer = version.command ? await commandNode(rows, version) : await callNode(rows, version)
  const run = await findRun(rows, version.runId ?? '')
  const given = run && text !== undefined ? await resultsWithRuns(rows, await resultsGivenTo(rows, run)) : []
  const source = quotedSource(
    text ?? '',
    given.map(({ result }) => result),
  )
  // A result that its writer was given is no proof that a line is from it.
  const isOnlyGiven = run && run.taskId === null && run.parentRunId !== null
  const own = await walkBack(rows, isOnlyGiven ? { ...writer, next: await starterOf(rows, run) } : writer)
  if (!source) return own
  const from = { kind: 'result' as const, id: String(source.id), how: 'from' as const }
  const chain = await walkBack(rows, { ...writer, next: from })
  const request = own.at(-1)
  const isThere = request && chain.some(({ kind, id }) => kind === request.kind && id === request.id)
  return request && !isThere ? [...chain, request] : chain
}

async function callNode(rows: Reading, { runId, callId, at }: FileVersion): Promise<ChainNode> {
  const tool = await toolOf(rows, runId ?? '', callId ?? '')
  const facts = { at: moment(at), ...(tool !== undefined && { tool }), ...(callId !== null && { callId }) }
  return { kind: 'run', id: runId ?? '', how: 'written by', facts }
}

async function commandNode(rows: Reading, version: FileVersion): Promise<ChainNode> {
  return { ...(await callNode(rows, version)), how: 'changed during' }
}

/** Max runs that are listed as writers of a file. */
const maxWriters = 50

async function writersOf(
  rows: Reading,
  traced: readonly TracedLine[],
): Promise<Pick<FileWhy, 'writers' | 'others' | 'unknown'>> {
  const counts = new Map<string, number>()
  for (const each of traced) {
    const runId = versionOf(each)?.runId
    if (runId) counts.set(runId, (counts.get(runId) ?? 0) + 1)
  }
  const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, maxWriters)
  const writers: FileWhy['writers'] = []
  for (const [runId, lines] of most) writers.push({ runId, agent: (await findRun(rows, runId))?.agent ?? null, lines })
  const unknown = traced.filter(({ author }) => author.by === 'unknown').length
  const others = traced.filter(({ author }) => author.by === 'before' || author.by === 'outside').length
  return { writers, others, ...(unknown > 0 && { unknown }) }
}

/** A file that is explained, and the authors of its lines. */
interface ExplainedFile {
  displayPath: string
  line: number | undefined
  versions: readonly FileVersion[]
  traced: readonly TracedLine[]
}

function lineNotes(
  { author, transfers }: TracedLine,
  { displayPath, line, versions }: ExplainedFile,
  folder: string,
): WhyNote[] {
  const what = `line ${line}`
  const source = transfers.at(-1)
  switch (author.by) {
    case 'outside':
      return [note(`${what} was changed outside heddle: by hand or by another program`)]
    case 'before':
      if (source)
        return [note(`${what} was in ${displayPathFrom(folder, source.path)}, and heddle did not write it there`)]
      return versions.length === 0
        ? [neverWrittenNote(displayPath)]
        : [note(`${what} was there before heddle wrote to ${displayPath}`)]
    case 'unknown':
      return [unknownNote(author, what)]
    default:
      return []
  }
}

function wholeNotes({ displayPath, versions, traced }: ExplainedFile): WhyNote[] {
  const authors = traced.map(({ author }) => author)
  const isRunless = authors.every(({ by }) => by === 'before' || by === 'outside')
  if (versions.length === 0 && isRunless) return [neverWrittenNote(displayPath)]
  const isEffective = versions.some(({ undoneAt, runId }) => undoneAt === null && runId !== null)
  if (versions.length > 0 && !isEffective) return [note(`every change that heddle made to ${displayPath} was undone`)]
  return doubtNotes(authors)
}

/** Max reasons for unknown lines that are listed. */
const maxDoubts = 3

/** Notes on lines whose authors are unknown, one for each reason. */
function doubtNotes(authors: readonly LineAuthor[]): WhyNote[] {
  const doubts = new Map<string, { author: Doubt; lines: number[] }>()
  for (const [at, author] of authors.entries()) {
    if (author.by !== 'unknown') continue
    const known = doubts.get(author.why)
    if (known) {
      known.lines.push(at + 1)
      known.author.runIds = [...new Set([...known.author.runIds, ...author.runIds])]
    } else doubts.set(author.why, { author: { ...author }, lines: [at + 1] })
  }
  const all = [...doubts.values()].sort((a, b) => b.lines.length - a.lines.length)
  const more = all.slice(maxDoubts).flatMap(({ lines }) => lines)
  return [
    ...all.slice(0, maxDoubts).map(({ author, lines }) => unknownNote(author, lineRanges(lines))),
    ...(more.length === 0 ? [] : [note(`unknown for other reasons: ${lineRanges(more.sort((a, b) => a - b))}`)]),
  ]
}

function neverWrittenNote(displayPath: string): WhyNote {
  return note(`heddle never wrote ${displayPath}: no run has changed it`)
}

type Doubt = Extract<LineAuthor, { by: 'unknown' }>

/** Max possible runs that a note names; `--json` has all. */
const maxNamed = 5

function unknownNote({ since, why, runIds }: Doubt, what: string): WhyNote {
  const when =
    since === null ? 'unknown' : `unknown since ${new Date(since).toISOString().slice(0, 16).replace('T', ' ')}`
  const named = runIds.slice(0, maxNamed).map((id) => `run:${shortId(id)}`)
  const more = runIds.length > maxNamed ? [`${runIds.length - maxNamed} more`] : []
  const who = runIds.length === 0 ? '' : ` (${[...named, ...more].join(', ')})`
  const [first] = runIds
  return { ...note(`${when} who wrote ${what}: ${why}${who}`), ...(first !== undefined && { ref: `run:${first}` }) }
}

/** Notes on how the disk differs from the last recorded version. */
function stateNotes(now: FileNow, last: FileVersion | undefined, { line, traced }: ExplainedFile): WhyNote[] {
  if (!last) return []
  if (now.kind === 'large') return [note(`too large (${now.size} bytes) to trace lines; showing its last change`)]
  if (now.kind !== 'file') return last.after === null ? [] : [note('it no longer exists: removed outside heddle')]
  if (decodeText(now.bytes) === undefined)
    return [note('it is binary, so lines cannot be traced; showing its last change')]
  if (now.sha256 === last.after || line !== undefined) return []
  const outside = traced.flatMap(({ author }, at) => (author.by === 'outside' ? at + 1 : []))
  const isUnknown = traced.some(({ author }) => author.by === 'unknown')
  if (outside.length === 0 && isUnknown) return []
  const which = outside.length === 0 ? 'lines were only taken away' : lineRanges(outside)
  return [note(`it was changed outside heddle since run:${shortId(last.runId ?? '')}: ${which}`)]
}

/** Max newest versions that are searched for lost writes. */
const maxSearched = 200

/** Notes on lost writes, except those whose version is on the disk again. */
async function lossNotes(rows: Reading, versions: readonly FileVersion[], now: string | null): Promise<WhyNote[]> {
  const written = versions.filter(({ command }) => !command).slice(-maxSearched)
  const lost = (await lostWrites(rows, written)).filter((each) => each.lost.change.after !== now)
  return lossLines(lost).map(note)
}

const maxRanges = 8

/** Formats numbers as `lines 1-3, 7`. */
function lineRanges(numbers: number[]): string {
  const spans: [number, number][] = []
  for (const each of numbers) {
    const last = spans.at(-1)
    if (last && last[1] === each - 1) last[1] = each
    else spans.push([each, each])
  }
  const listed = spans.slice(0, maxRanges).map(([from, to]) => (from === to ? String(from) : `${from}-${to}`))
  const more = spans.length > maxRanges ? [`and ${spans.length - maxRanges} more places`] : []
  return `${numbers.length === 1 ? 'line' : 'lines'} ${[...listed, ...more].join(', ')}`
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

function noLines(displayPath: string, now: FileNow): HeddleError {
  const [why, code] =
    now.kind === 'large'
      ? [`has ${now.size} bytes, more than heddle reads`, 'too_large']
      : now.kind === 'file'
        ? ['is binary', 'binary']
        : ['no longer exists', 'not_found']
  return new HeddleError(
    code,
    `${displayPath} ${why}: it has no lines to ask about`,
    `ask about all of it: heddle why ${displayPath}`,
  )
}

function noSuchLine(displayPath: string, line: number, lines: number): HeddleError {
  return new HeddleError(
    'not_found',
    `${displayPath} has ${countNoun(lines, 'line')}: there is no line ${line}`,
    lines === 0 ? `ask about all of it: heddle why ${displayPath}` : `heddle why ${displayPath}:${lines} is the last`,
  )
}
