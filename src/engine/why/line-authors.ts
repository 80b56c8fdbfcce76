import { join } from 'node:path'
import type { FileTimes, ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import { type LineMap, lineBefore, linesOfBoth, mapContents, readLineMap } from '../files/line-map.ts'
import { linesBroughtBack, newLinesOf } from './brought-back.ts'
import { traceAmbiguousCopy } from './by-hand/content-holders.ts'
import { LineIndex } from './by-hand/line-index.ts'
import { manualOrigins } from './by-hand/manual-origins.ts'
import { mayReplaceVersion } from './by-hand/replaced-file.ts'
import { findRenamed, isSameFile } from './by-hand/same-file.ts'
import { CallFacts } from './call-facts.ts'
import { DiskState } from './disk-state.ts'
import type { FileContents } from './file-contents.ts'
import { KnownVersions } from './known-versions.ts'
import { mergedOrigins } from './merged-origins.ts'
import { linesOfSpans, OpenLines } from './open-lines.ts'
import { anyEqualLine, newLine, possibleOrigins } from './possible-origins.ts'
import { reorderedOrigins } from './reordered-origins.ts'
import {
  isBefore,
  type LineAuthor,
  type LineTransfer,
  type MovedFile,
  mergeTracedLines,
  type TracedFile,
  type TracedLine,
  type Tracer,
  unknownAuthor,
} from './traced-line.ts'
import { VersionAuthors } from './version-authors.ts'
import { chainOf, type VersionNode } from './version-chain.ts'

/** Max moves and copies that a line is followed through. */
const maxTransfers = 40
/** Max contents made of several files that are followed further. */
const maxMerges = 100

/** Follows lines back through the versions of files. */
export class LineTracer implements Tracer {
  readonly rows: Reading
  readonly contents: FileContents
  readonly versions: KnownVersions
  readonly disk: DiskState
  readonly index: LineIndex
  readonly calls: CallFacts
  readonly #authors: VersionAuthors
  /** Lines that were traced in other files, by file and version: many ways lead to the same ones. */
  readonly #traced = new Map<string, Map<number, TracedLine>>()
  /** Contents made of several files that were followed so far. */
  #merges = 0

  constructor(rows: Reading, contents: FileContents, protect: ProtectedPlaces) {
    this.rows = rows
    this.contents = contents
    this.versions = new KnownVersions(rows)
    this.disk = new DiskState(protect)
    this.index = new LineIndex(rows)
    this.calls = new CallFacts(rows)
    this.#authors = new VersionAuthors(rows, protect)
  }

  /** Authors of these lines, counted from 0, of a file's content. */
  async trace(file: Omit<TracedFile, 'transferCount' | 'before'>, lines: readonly number[]): Promise<TracedLine[]> {
    this.versions.add(file.path, file.versions)
    const node = await chainOf(file.versions, this.calls, file.end)
    return this.#walk({ ...file, transferCount: 0 }, node, lines)
  }

  async traceFrom(
    transfer: Omit<LineTransfer, 'line'>,
    file: TracedFile,
    lines: readonly number[],
  ): Promise<TracedLine[]> {
    const { path, versions, end, before } = file
    const key = JSON.stringify([path, versions.at(-1)?.order, end, before?.order])
    const traced = await this.#traceOnce(key, lines, async (open) =>
      this.#walk(file, await chainOf(versions, this.calls, end), open),
    )
    return traced.map(({ author, transfers }, at) => ({
      author,
      transfers: [{ ...transfer, line: (lines[at] ?? 0) + 1 }, ...transfers],
    }))
  }

  async #walk(file: TracedFile, last: VersionNode | undefined, lines: readonly number[]): Promise<TracedLine[]> {
    const open = new OpenLines(lines)
    let current = file
    for (let node = last; node && !open.isEmpty; node = node.parent) {
      if (node.foundBy) current = { ...current, before: node.foundBy, ...timesOfFound(node.foundBy) }
      else if (node.times) current = { ...current, ...node.times }
      if (node.foundBy && node !== last) {
        const rest = open.lines()
        const traced = await this.#traceFound(current, node, node.foundBy, rest)
        for (const [at, { slot }] of rest.entries()) open.resolveLine(slot, traced[at] as TracedLine)
        break
      }
      const renamed = await this.#findRenamed(current, node)
      const openLines = renamed || this.#mayComeFromOtherFile(node) ? open.lines() : []
      const inOtherFiles =
        openLines.length === 0 ? undefined : await this.#originsInOtherFiles({ ...current, renamed }, node, openLines)
      if (inOtherFiles) {
        for (const [at, { slot }] of openLines.entries()) open.resolveLine(slot, inOtherFiles[at] as TracedLine)
        break
      }
      if (node.via.kind === 'start') {
        open.resolveSpans(await this.#authors.authorOfStart(current, node))
        break
      }
      await this.#followToParent(open, current, node)
      const { path, versions, all, transferCount } = current
      if (node.via.kind === 'version')
        current = { path, versions, transferCount, ...(all && { all }), before: node.via.version }
    }
    return open.result().map((each) => each ?? { author: { by: 'before' }, transfers: [] })
  }

  /** Traces lines of a version that a command found, each once: every later version leads to it. */
  async #traceFound(
    file: TracedFile,
    node: VersionNode,
    { order }: FileVersion,
    lines: readonly { line: number }[],
  ): Promise<TracedLine[]> {
    const key = JSON.stringify([file.path, order, file.hasOtherNames])
    const numbers = lines.map(({ line }) => line)
    return this.#traceOnce(key, numbers, (open) => this.#walk(file, node, open))
  }

  async #traceOnce(
    key: string,
    lines: readonly number[],
    trace: (open: readonly number[]) => Promise<TracedLine[]>,
  ): Promise<TracedLine[]> {
    const known = this.#traced.get(key) ?? new Map<number, TracedLine>()
    this.#traced.set(key, known)
    const open = [...new Set(lines)].filter((line) => !known.has(line))
    const traced = open.length > 0 ? await trace(open) : []
    for (const [at, line] of open.entries()) known.set(line, traced[at] as TracedLine)
    return lines.map((line) => known.get(line) as TracedLine)
  }

  /** Follows lines to the version before; new lines get the author of this one. */
  async #followToParent(open: OpenLines, file: TracedFile, node: VersionNode): Promise<void> {
    const origins = await this.#possibleOrigins(node, open)
    const why = node.via.kind === 'version' ? equalAfterReorder : equalAfterManualChange
    const since = node.parent?.at ?? node.at
    const before = node.via.kind === 'version' ? { ...file, before: node.via.version } : file
    const walk = (earlier: VersionNode, lines: readonly number[]) => this.#walk(before, earlier, lines)
    if (origins) {
      const author = await this.#authors.authorOf(file, node)
      const moved =
        node.via.kind === 'gap'
          ? await this.#movedLines(file, node, open, origins)
          : await linesBroughtBack(node, author, () => newLinesOf(origins, open.lines()), walk)
      return open.followPossible(origins, { author, moved }, { since, why })
    }
    const map = await this.#lineMapOf(node)
    const newSpans = open.follow(map ?? [])
    if (newSpans.length === 0) return
    const author = map ? await this.#authors.authorOf(file, node) : await this.#authorOfMissing(file, node)
    const added = linesOfSpans(newSpans)
    const back = await linesBroughtBack(node, author, () => added.map(({ line }) => line), walk)
    for (const { line, slot } of added) open.resolveLine(slot, back.get(line) ?? { author, transfers: [] })
  }

  /** Lines that the user or another program may have moved here from another file, replacing the version before. */
  async #movedLines(
    file: TracedFile,
    node: VersionNode,
    open: OpenLines,
    origins: readonly number[][],
  ): Promise<Map<number, TracedLine>> {
    const { via, hash } = node
    const kept = new Set(origins.flatMap((from, line) => (from.includes(newLine) ? [] : line)))
    const isMostlyNew = kept.size * 2 < origins.length
    if (via.kind !== 'gap' || !hash || file.transferCount >= maxTransfers) return new Map()
    const [lines, author] = [open.lines().map(({ line }) => line), await this.#authors.authorOf(file, node)]
    const found = await manualOrigins(this, { ...file, since: via.since, kept }, hash, lines, author)
    const all = (found?.traced ?? []).map((each, at): [number, TracedLine] => [lines[at] ?? 0, each])
    // A kept line is in doubt only if a file with exactly this content or a better match may have replaced this one; a "}" among new
    // lines, if any similar file may have.
    const mayBeReplaced = found?.hasExactMatch || found?.mayBeReplaced
    const isInDoubt = (line: number) => mayBeReplaced || !kept.has(line) || (isMostlyNew && found?.isTrivial[line])
    const moved = new Map(all.filter(([line, each]) => each.author !== author && isInDoubt(line)))
    const compared = { content: await this.#contentOf(hash, node), kept }
    if (await mayReplaceVersion(this, file, node, compared))
      for (const line of lines) if (!moved.has(line)) moved.set(line, { author, transfers: [] })
    return moved
  }

  /** Author of lines that cannot be followed further because a content is missing. */
  async #authorOfMissing(file: TracedFile, { via, parent, at, hash }: VersionNode): Promise<LineAuthor> {
    const since = parent?.at ?? at
    if (hash !== '' && parent?.hash !== '') return unknownAuthor(since, 'versions in between are missing')
    return unknownAuthor(
      since,
      'what a command left was not read',
      await this.#authors.possibleRunsOf(file, [via, parent?.via]),
    )
  }

  /** Possible origins of each line where none are recorded; undefined if they are, or contents are missing. */
  async #possibleOrigins(node: VersionNode, open: OpenLines): Promise<number[][] | undefined> {
    const { via, parent } = node
    if (!parent?.hash) return undefined
    const isRecorded = via.kind === 'version' && (!via.isUnread || recordedOrigin(via.version))
    if (isRecorded) return this.#reorderedOrigins(node, via.version, (map) => open.hasUnmapped(map))
    const [before, after] = [await this.#contentOf(parent.hash, parent), await this.#contentOf(node.hash, node)]
    const lines = before && after && linesOfBoth(before, after)
    return lines && possibleOrigins(lines.oldLines, lines.newLines)
  }

  /** Possible origins of each line that a command reordered; undefined if it did not, or its map has all requested lines. */
  async #reorderedOrigins(
    node: VersionNode,
    { command, lineMap }: FileVersion,
    hasUnmapped: (map: LineMap) => boolean,
  ): Promise<number[][] | undefined> {
    const map = command && lineMap !== null ? readLineMap(lineMap) : []
    if (!command || lineMap === null || !hasUnmapped(map)) return undefined
    const origin = command.origin?.path ? command.origin.hash : undefined
    const before = await this.#contentOf(origin ?? node.parent?.hash, origin === undefined ? node.parent : undefined)
    const after = await this.#contentOf(node.hash, node)
    const lines = before && after && linesOfBoth(before, after)
    return lines && reorderedOrigins(lines.oldLines, lines.newLines, map)
  }

  /** The version of another file that this one was before it was renamed: not if it is the one that was here before. */
  async #findRenamed(file: TracedFile, node: VersionNode): Promise<FileVersion | undefined> {
    if (node.via.kind === 'version' || !node.hash || (await this.#isInPlace(file, node))) return undefined
    return findRenamed(this, file, node.hash)
  }

  /** Whether a file is the one whose version before is recorded, and only its content was changed. */
  async #isInPlace(file: TracedFile, { parent }: VersionNode): Promise<boolean> {
    const before = parent?.via.kind === 'version' ? parent.via.version : parent?.foundBy
    return before !== undefined && (await isSameFile(this, file, before)) === true
  }

  #mayComeFromOtherFile({ via, parent }: VersionNode): boolean {
    if (via.kind === 'version') return mayBeCopyOrMove(via.version)
    return via.kind === 'start' || (parent?.hash ?? null) === null
  }

  /** Traces lines in other files, if they were moved or copied from there. */
  async #originsInOtherFiles(
    file: MovedFile,
    node: VersionNode,
    open: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    if (file.transferCount >= maxTransfers) return undefined
    const { via } = node
    if (via.kind === 'version' && recordedOrigin(via.version))
      return this.#originsInRecordedFile(file, node, via.version, open)
    if (via.kind === 'version') return this.#originsInMergedFiles(file, node, via.version, open)
    if (!node.hash) return undefined
    const unmatched =
      via.kind === 'start' ? await this.#authors.authorOfStart(file, node) : await this.#authors.authorOf(file, node)
    const moved = via.kind === 'gap' ? { ...file, since: via.since } : file
    const lines = open.map(({ line }) => line)
    return (await manualOrigins(this, moved, node.hash, lines, unmatched))?.traced
  }

  async #originsInRecordedFile(
    file: TracedFile,
    node: VersionNode,
    version: FileVersion,
    open: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    const origin = recordedOrigin(version)
    const map = origin && (await this.#lineMapOf(node))
    if (!origin || !map) return undefined
    const path = join(version.folder, origin.path)
    const hasUnmapped = () => open.some(({ line }) => lineBefore(map, line) === undefined)
    const reordered = await this.#reorderedOrigins(node, version, hasUnmapped)
    const equal = await this.#equalLines(node, origin.hash)
    const from = open.map(({ line }) => {
      const all = reordered?.[line] ?? [lineBefore(map, line) ?? newLine]
      return all.includes(newLine) ? all : [...new Set([...all, ...(equal[line] ?? [])])]
    })
    const author = await this.#authors.authorOf(file, node)
    const lines = [...new Set(from.flat())].filter((line) => line >= 0)
    const traced = await this.#traceInOtherFile({ file, author, version }, path, origin.hash, lines)
    const found = new Map(lines.map((line, at) => [line, traced[at] as TracedLine]))
    const doubt = { since: node.at, why: equalAfterReorder }
    const anyLine = unknownAuthor(doubt.since, doubt.why)
    return from.map((all) =>
      mergeTracedLines(
        all.map((line) => found.get(line) ?? { author: line === anyEqualLine ? anyLine : author, transfers: [] }),
        doubt,
      ),
    )
  }

  /** For each line the equal lines of another file that fit its position: a map has only one of them. */
  async #equalLines(node: VersionNode, hash: string): Promise<number[][]> {
    const [before, after] = [await this.#contentOf(hash, undefined), await this.#contentOf(node.hash, node)]
    const both = hash !== node.hash && before && after && linesOfBoth(before, after)
    return both
      ? possibleOrigins(both.oldLines, both.newLines).map((from) => from.filter((each) => each !== newLine))
      : []
  }

  /** Traces lines in the content of another file before the command that left a version. */
  async #traceInOtherFile(
    { file, author, version }: { file: TracedFile; author: LineAuthor; version: FileVersion },
    path: string,
    hash: string,
    lines: readonly number[],
  ): Promise<TracedLine[]> {
    const isGone = await this.#isRemovedBy(path, version)
    const how = isGone ? ('moved' as const) : ('copied' as const)
    const transfer = { how, path, ...(author.by === 'version' && { version }) }
    const end = { hash, at: version.command?.since ?? version.at }
    const all = await this.versions.of(path)
    const versions = all.filter((each) => isBefore(each, version))
    return this.traceFrom(
      transfer,
      { path, versions, all, transferCount: file.transferCount + 1, end, before: version },
      lines,
    )
  }

  /** Traces lines in the files of which a command made this content, or may have. */
  async #originsInMergedFiles(
    file: TracedFile,
    node: VersionNode,
    version: FileVersion,
    open: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    const since = version.command?.since ?? version.at
    if (++this.#merges > maxMerges) {
      const author = unknownAuthor(since, `it was made of several files more than ${maxMerges} times`)
      return open.map(() => ({ author, transfers: [] }))
    }
    const author = await this.#authors.authorOf(file, node)
    return mergedOrigins(
      this,
      {
        version,
        author,
        since,
        own: (lines) => this.#walk({ ...file, before: version }, node.parent, lines),
        same: (lines) => traceAmbiguousCopy(this, file, { version, author }, lines),
        other: (path, hash, lines) => this.#traceInOtherFile({ file, author, version }, path, hash, lines),
      },
      open.map(({ line }) => line),
    )
  }

  async #isRemovedBy(path: string, { runId, callId }: FileVersion): Promise<boolean> {
    const all = await this.versions.of(path)
    return all.some((each) => each.runId === runId && each.callId === callId && each.command && each.after === null)
  }

  /** Map to the lines of the version before; undefined if the contents are not stored. */
  async #lineMapOf(node: VersionNode): Promise<LineMap | undefined> {
    const { via, parent, hash } = node
    const version = via.kind === 'version' ? via.version : undefined
    const origin = version && recordedOrigin(version)?.hash
    if (origin === undefined && (parent?.hash ?? null) === null) return []
    if (version && version.lineMap !== null && !(via.kind === 'version' && via.isUnread))
      return readLineMap(version.lineMap)
    const before = await this.#contentOf(origin ?? parent?.hash, origin === undefined ? parent : undefined)
    const after = await this.#contentOf(hash, node)
    return (before && after && mapContents(before, after)) ?? undefined
  }

  #contentOf(hash: string | null | undefined, node: VersionNode | undefined): Promise<Buffer | undefined> {
    const via = node?.via
    return hash
      ? this.contents.get(hash, via?.kind === 'version' ? via.version : undefined)
      : Promise.resolve(undefined)
  }
}

const equalAfterManualChange = 'the file was changed outside heddle, and the version before had equal lines'
const equalAfterReorder = 'a command put lines in another order, and equal ones were there before'

function timesOfFound({ found, modifiedAt, identity }: FileVersion): Partial<FileTimes> {
  return { ...found, ...(modifiedAt !== undefined && { modifiedAt }), ...(identity !== undefined && { identity }) }
}

/** Whether a command may have moved or copied a content from other files. */
function mayBeCopyOrMove({ before, command }: FileVersion): boolean {
  return command !== undefined && (command.origin !== undefined || before === null)
}

/** The file that a command moved or copied a version from; undefined if that is unknown or ambiguous. */
function recordedOrigin({ command }: FileVersion): { path: string; hash: string } | undefined {
  return command?.origin?.path === '' ? undefined : command?.origin
}
