import type { FileTimes, ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import { type LineMap, lineBefore } from '../files/line-map.ts'
import { newLine } from '../files/possible-origins.ts'
import { LineIndex } from './by-hand/line-index.ts'
import { linesFromElsewhere, linesOfNewFile, linesRestoredByCommand } from './by-hand/manual-change.ts'
import { findRenamed, isInPlace } from './by-hand/same-file.ts'
import { CallFacts } from './call-facts.ts'
import { CommandTransfers } from './command-transfers.ts'
import { traceCopiedContent } from './copied-contents.ts'
import { DiskState } from './disk-state.ts'
import type { FileContents } from './file-contents.ts'
import { KnownVersions } from './known-versions.ts'
import { equalAfterChange, linesOfSpans, OpenLines } from './open-lines.ts'
import {
  type LineAuthor,
  type LineTransfer,
  type MovedFile,
  type TracedFile,
  type TracedLine,
  type Tracer,
  unknownAuthor,
} from './traced-line.ts'
import { madeElsewhere } from './unseen-commands.ts'
import { VersionAuthors } from './version-authors.ts'
import { chainOf, runsThatBrought, type VersionNode } from './version-chain.ts'
import { originsAmong, VersionLines } from './version-lines.ts'

/** Max moves and copies that a line is followed through. */
const maxTransfers = 40

/** Follows lines back through the versions of files. */
export class LineTracer implements Tracer {
  readonly rows: Reading
  readonly contents: FileContents
  readonly versions: KnownVersions
  readonly disk: DiskState
  readonly index: LineIndex
  readonly calls: CallFacts
  readonly #lines: VersionLines
  readonly #transfers: CommandTransfers
  readonly #authors: VersionAuthors
  /** Lines that were traced in other files, by file and version: many ways lead to the same ones. */
  readonly #traced = new Map<string, Map<number, TracedLine>>()

  constructor(rows: Reading, contents: FileContents, protect: ProtectedPlaces) {
    this.rows = rows
    this.contents = contents
    this.versions = new KnownVersions(rows)
    this.disk = new DiskState(protect)
    this.index = new LineIndex(rows, this.versions)
    this.calls = new CallFacts(rows)
    this.#lines = new VersionLines(contents)
    this.#transfers = new CommandTransfers(this, this.#lines)
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
      const key = node === last ? undefined : keyOfComparison(current, node)
      if (key !== undefined) {
        const rest = open.lines()
        const traced = await this.#traceRest(key, current, node, rest)
        for (const [at, { slot }] of rest.entries()) open.resolveLine(slot, traced[at] as TracedLine)
        break
      }
      const renamed = await this.#findRenamed(current, node)
      const openLines = renamed || (await this.#mayComeFromOtherFile(node)) ? open.lines() : []
      const inOtherFiles =
        openLines.length === 0 ? undefined : await this.#originsInOtherFiles({ ...current, renamed }, node, openLines)
      if (inOtherFiles) {
        for (const [at, { slot }] of openLines.entries()) open.resolveLine(slot, inOtherFiles[at] as TracedLine)
        break
      }
      if (node.via.kind === 'start') {
        open.resolveSpans(await this.#authors.authorOfUnexplained(current, node))
        break
      }
      await this.#followToParent(open, current, node)
      const { path, versions, all, transferCount } = current
      if (node.via.kind === 'version')
        current = { path, versions, transferCount, ...(all && { all }), before: node.via.version }
    }
    return open.result().map((each) => each ?? { author: { by: 'before' }, transfers: [] })
  }

  /** Traces lines of a version that is compared with others, each once: every later version leads to it. */
  async #traceRest(
    key: string,
    file: TracedFile,
    node: VersionNode,
    lines: readonly { line: number }[],
  ): Promise<TracedLine[]> {
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
    const [{ parent }, versionLines] = [node, this.#lines]
    const since = parent?.at ?? node.at
    const origins = await versionLines.possibleOriginsOf(node)
    if (origins) {
      const author = await this.#authors.authorOf(file, node)
      const moved = await this.#fromElsewhere(file, node, author, open, origins)
      return open.followPossible(origins, { author, moved }, { since, why: equalAfterManualChange })
    }
    const map = await versionLines.mapOf(node)
    const leftOpen = map && (await this.#leftOpen(open, file, node, map))
    if (leftOpen) return open.followPossible(leftOpen.origins, leftOpen, { since, why: leftOpen.why })
    const newSpans = open.follow(map ?? [])
    if (newSpans.length === 0) return
    const added = linesOfSpans(newSpans)
    if (!map) return this.#resolveMissing(open, file, node, added)
    const author = await this.#authors.authorOf(file, node)
    open.resolveSpans(author, newSpans)
    const copied = await this.#copiedBy(file, node, author, added)
    for (const [at, { slot }] of (copied ? added : []).entries()) open.resolveLine(slot, copied?.[at] as TracedLine)
  }

  /** Possible origins of lines if a recorded change leaves them open; undefined if it does not. */
  async #leftOpen(
    open: OpenLines,
    file: TracedFile,
    node: VersionNode,
    map: LineMap,
  ): Promise<{ origins: number[][]; author: LineAuthor; moved: Map<number, TracedLine>; why: string } | undefined> {
    const versionLines = this.#lines
    const authorOf = () => this.#authors.authorOf(file, node)
    const restored = await linesRestoredByCommand(this, { file, node, authorOf, versionLines }, map, open)
    const choices = await versionLines.choicesOf(node, (each) => open.hasUnmapped(each))
    const isFromElsewhere = node.via.kind === 'version' && (await this.#authors.isFromElsewhere(node.via.version))
    if (choices.length === 0 && !restored && !isFromElsewhere) return undefined
    const lines = open.lines()
    const leftOpen = originsAmong(
      choices,
      lines.map(({ line }) => line),
    )
    if (leftOpen.size === 0 && !restored && !isFromElsewhere) return undefined
    const origins: number[][] = []
    for (const { line } of lines) {
      const possible = leftOpen.get(line) ?? restored?.origins[line] ?? [lineBefore(map, line) ?? newLine]
      origins[line] = isFromElsewhere ? [...new Set([...possible, newLine])] : possible
    }
    const author = restored?.author ?? (await authorOf())
    if (isFromElsewhere) return { origins, author, moved: restored?.moved ?? new Map(), why: madeElsewhere }
    const added = restored ? [] : lines.filter(({ line }) => origins[line]?.includes(newLine))
    const copied = added.length === 0 ? undefined : await this.#copiedBy(file, node, author, added)
    const moved = restored?.moved ?? new Map(copied?.map((each, at) => [added[at]?.line ?? newLine, each]))
    return { origins, author, moved, why: equalAfterChange }
  }

  /** Lines that may come from elsewhere than the version before, after a change by the user or another program. */
  async #fromElsewhere(
    file: TracedFile,
    { via, hash, ...node }: VersionNode,
    author: LineAuthor,
    open: OpenLines,
    origins: readonly number[][],
  ): Promise<Map<number, TracedLine>> {
    if (via.kind !== 'gap' || !hash || file.transferCount >= maxTransfers) return new Map()
    const changed = { file, node: { ...node, via, hash }, since: via.since, author, versionLines: this.#lines }
    return linesFromElsewhere(this, changed, open.lines(), origins)
  }

  /** What a command put in place of a file may be a copy of another one. Undefined if it is not. */
  async #copiedBy(
    file: TracedFile,
    { via, hash }: VersionNode,
    author: LineAuthor,
    lines: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    if (via.kind !== 'version' || !via.version.command || via.version.command.origin || !hash) return undefined
    if (file.transferCount >= maxTransfers) {
      const unknown = unknownAuthor(null, `it was moved or copied more than ${maxTransfers} times`)
      return lines.map(() => ({ author: unknown, transfers: [] }))
    }
    const numbers = lines.map(({ line }) => line)
    return traceCopiedContent(this, file, { version: via.version, author }, numbers)
  }

  /** Lines cannot be followed further because a content is missing: runs that brought such lines before may have written them. */
  async #resolveMissing(
    open: OpenLines,
    file: TracedFile,
    node: VersionNode,
    lines: readonly { line: number; slot: number }[],
  ): Promise<void> {
    const { via, parent, at, hash } = node
    const isUnread = hash === '' || parent?.hash === ''
    const why = isUnread ? 'what a command left was not read' : 'a version in between is missing, or no text'
    const runIds = await this.#authors.possibleRunsOf(file, isUnread ? [via, parent?.via] : [via])
    const texts = await this.#lines.textsOf(node)
    const brought = runsThatBrought(parent)
    for (const { line, slot } of lines) {
      const all = [...new Set([...runIds, ...brought(texts[line] ?? '')])]
      open.resolveLine(slot, { author: unknownAuthor(parent?.at ?? at, why, all), transfers: [] })
    }
  }

  /** The version of another file that this one was before it was renamed: not if it is the one that was here before. */
  async #findRenamed(file: TracedFile, node: VersionNode): Promise<FileVersion | undefined> {
    if (node.via.kind === 'version' || !node.hash || (await isInPlace(this, file, node))) return undefined
    return findRenamed(this, file, node.hash)
  }

  async #mayComeFromOtherFile({ via, parent }: VersionNode): Promise<boolean> {
    if (via.kind === 'version')
      return (
        mayBeCopyOrMove(via.version) || (isUnrecorded(parent) && (await this.#authors.isFromElsewhere(via.version)))
      )
    return via.kind === 'start' || (parent?.hash ?? null) === null
  }

  /** Traces lines in other files, if they were moved or copied from there. */
  async #originsInOtherFiles(
    file: MovedFile,
    node: VersionNode,
    open: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    const { via, hash } = node
    if (file.transferCount >= maxTransfers || !hash) return undefined
    const author =
      via.kind === 'start' ? await this.#authors.authorOfStart(file, node) : await this.#authors.authorOf(file, node)
    if (via.kind !== 'version')
      return linesOfNewFile(this, { file, node: { ...node, hash }, author, versionLines: this.#lines }, open)
    const { version } = via
    if (await this.#authors.isFromElsewhere(version))
      return this.#originsOfOlderFile(file, { ...node, hash }, version, author, open)
    return this.#transfers.originsOf({ file, node, version, author }, open, (lines) =>
      this.#walk({ ...file, before: version }, node.parent, lines),
    )
  }

  /** Traces lines of a file that a command brought from where nothing looks: another file may be recorded that it was before. */
  async #originsOfOlderFile(
    file: TracedFile,
    node: VersionNode & { hash: string },
    version: FileVersion,
    author: LineAuthor,
    open: readonly { line: number }[],
  ): Promise<TracedLine[]> {
    const { identity, modifiedAt, at } = version
    const times = { changedAt: at, ...(modifiedAt !== undefined && { modifiedAt }), ...(identity && { identity }) }
    const since = node.parent?.at
    const moved = { ...file, ...times, before: version, ...(since !== undefined && { since }) }
    const renamed = await findRenamed(this, moved, node.hash)
    const changed = { file: { ...moved, renamed }, node, author, versionLines: this.#lines }
    const traced = await linesOfNewFile(this, changed, open)
    return open.map((_, index) => {
      const { author: found, transfers: [first, ...rest] = [] } = traced?.[index] ?? { author, transfers: [] }
      const how = first?.how === 'moved by hand' ? ('moved' as const) : ('copied' as const)
      return { author: found, transfers: first ? [{ ...first, how, version }, ...rest] : [] }
    })
  }
}

const equalAfterManualChange = 'the file was changed outside heddle, and the version before had equal lines'

function timesOfFound({ found, modifiedAt, identity }: FileVersion): Partial<FileTimes> {
  return { ...found, ...(modifiedAt !== undefined && { modifiedAt }), ...(identity !== undefined && { identity }) }
}

/** Whether there was no file, or nothing is known of it. */
function isUnrecorded(node: VersionNode | undefined): boolean {
  return node?.hash === '' ? node.via.kind === 'start' : !node?.hash
}

/** Whether a command may have moved or copied a content from other files. */
function mayBeCopyOrMove({ before, command }: FileVersion): boolean {
  return command !== undefined && (command.origin !== undefined || before === null)
}

/** Names a version that takes long to trace, since it is compared with other files or earlier contents; undefined for others. */
function keyOfComparison(file: TracedFile, { foundBy, hasReturned, via, hash, at }: VersionNode): string | undefined {
  const { path, hasOtherNames, before, changedAt, modifiedAt, identity } = file
  if (foundBy) return JSON.stringify(['found', path, foundBy.order, hasOtherNames])
  if (hasReturned && via.kind === 'version') return JSON.stringify(['left', path, via.version.order, hasOtherNames])
  if (via.kind !== 'gap') return undefined
  const facts = { hash, at, via, hasOtherNames, before: before?.order, changedAt, modifiedAt, identity }
  return JSON.stringify(['changed', path, facts])
}
