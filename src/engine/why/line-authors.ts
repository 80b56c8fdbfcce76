import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import { type LineMap, lineBefore, linesOfBoth, mapContents, readLineMap } from '../files/line-map.ts'
import { Journal } from '../run/context/journal.ts'
import { CompleteSurveys } from './complete-surveys.ts'
import { copiedFromAny } from './content-holders.ts'
import type { FileContents } from './file-contents.ts'
import { handOrigins } from './hand-origins.ts'
import { KnownVersions } from './known-versions.ts'
import { mergedOrigins } from './merged-origins.ts'
import { OpenLines } from './open-lines.ts'
import { isAny, isNew, possibleOrigins } from './possible-origins.ts'
import { reorderedOrigins } from './reordered-origins.ts'
import {
  agreedLine,
  type FilePassage,
  isBefore,
  type LineAuthor,
  type Place,
  type TracedLine,
  type Tracer,
  unknown,
} from './traced-line.ts'
import { VersionAuthors } from './version-authors.ts'
import { chainOf, type VersionNode } from './version-chain.ts'

/** Max files that a line is followed through. */
const maxPassages = 40
/** Max contents that were made of several files and are followed further. */
const maxMerges = 100

/** Follows lines back through the versions of files. */
export class LineTracer implements Tracer {
  readonly rows: Reading
  readonly contents: FileContents
  readonly versions: KnownVersions
  readonly surveys: CompleteSurveys
  readonly protect: ProtectedPlaces
  readonly #journals = new Map<string, Journal | undefined>()
  readonly #authors: VersionAuthors
  /** Contents that were made of several files and were followed. */
  #merges = 0

  constructor(rows: Reading, contents: FileContents, protect: ProtectedPlaces) {
    this.rows = rows
    this.contents = contents
    this.versions = new KnownVersions(rows)
    this.surveys = new CompleteSurveys(rows, this.versions, protect)
    this.protect = protect
    this.#authors = new VersionAuthors(rows, protect)
  }

  /** Authors of these lines, counted from 0, of a file's content. */
  async trace(file: Omit<Place, 'passages' | 'before'>, lines: readonly number[]): Promise<TracedLine[]> {
    this.versions.add(file.path, file.versions)
    const node = await chainOf(file.versions, this, file.end)
    return this.#walk({ ...file, passages: 0 }, node, lines)
  }

  async traceFrom(passage: Omit<FilePassage, 'line'>, place: Place, lines: readonly number[]): Promise<TracedLine[]> {
    const node = await chainOf(place.versions, this, place.end)
    const traced = await this.#walk(place, node, lines)
    return traced.map(({ author, passages }, at) => ({
      author,
      passages: [{ ...passage, line: (lines[at] ?? 0) + 1 }, ...passages],
    }))
  }

  /** Whether a recorded change was made: only a call that succeeded proves it. */
  async isMade({ runId, callId, command }: FileVersion): Promise<boolean | undefined> {
    if (command || runId === null) return true
    return (await this.#journalOf(runId))?.isDone(callId ?? '')
  }

  async endOf({ runId, callId }: FileVersion): Promise<Millis> {
    const journal = runId === null ? undefined : await this.#journalOf(runId)
    return journal?.endOf(callId ?? '') ?? Number.MAX_SAFE_INTEGER
  }

  async #journalOf(runId: string): Promise<Journal | undefined> {
    if (!this.#journals.has(runId)) {
      const steps = await readSteps(this.rows, runId)
      this.#journals.set(runId, steps.length === 0 ? undefined : new Journal(runId, steps))
    }
    return this.#journals.get(runId)
  }

  async #walk(place: Place, last: VersionNode | undefined, lines: readonly number[]): Promise<TracedLine[]> {
    const open = new OpenLines(lines)
    let here = place
    for (let node = last; node && !open.isEmpty; node = node.parent) {
      if (node.foundBy) here = { ...here, before: node.foundBy, ...node.foundBy.found }
      const left = this.#mayBeElsewhere(node) ? open.lines() : []
      const elsewhere = left.length === 0 ? undefined : await this.#elsewhere(here, node, left)
      if (elsewhere) {
        for (const [at, { asked }] of left.entries()) open.find(asked, elsewhere[at] as TracedLine)
        break
      }
      if (node.via.kind === 'start') {
        open.close(await this.#authors.ofStart(here, node))
        break
      }
      await this.#goBack(open, here, node)
      const { path, versions, all, passages } = here
      if (node.via.kind === 'version')
        here = { path, versions, passages, ...(all && { all }), before: node.via.version }
    }
    return open.result().map((each) => each ?? { author: { by: 'before' }, passages: [] })
  }

  /** Takes lines to the version before; those that it has not are of this one's author. */
  async #goBack(open: OpenLines, place: Place, node: VersionNode): Promise<void> {
    const origins = await this.#originsOf(node, open)
    const why = node.via.kind === 'version' ? equalInOrder : equalByHand
    const since = node.parent?.at ?? node.at
    if (origins) {
      const author = await this.#authors.of(place, node)
      const brought = await this.#brought(place, node, open, origins)
      return open.choose(origins, { author, brought }, { since, why })
    }
    const map = await this.#mapOf(node)
    const fresh = open.follow(map ?? [])
    if (fresh.length > 0) open.close(map ? await this.#authors.of(place, node) : await this.#lost(place, node), fresh)
  }

  /** Lines as another file had them that a hand may have put in the place of the version before. */
  async #brought(
    place: Place,
    node: VersionNode,
    open: OpenLines,
    origins: readonly number[][],
  ): Promise<Map<number, TracedLine>> {
    const { via, hash } = node
    const kept = new Set(origins.flatMap((from, line) => (from.includes(isNew) ? [] : line)))
    const isOther = kept.size < origins.length
    const isMostlyNew = kept.size * 2 < origins.length
    if (via.kind !== 'gap' || !hash || !isOther || place.passages >= maxPassages) return new Map()
    const [lines, author] = [open.lines().map(({ line }) => line), await this.#authors.of(place, node)]
    const found = await handOrigins(this, { ...place, since: via.since, kept }, hash, lines, author)
    const all = (found?.traced ?? []).map((each, at): [number, TracedLine] => [lines[at] ?? 0, each])
    // A line that has stayed is put in doubt only by a file with exactly this content, which may have come there; a "}" among other
    // lines by any file that may have.
    const isDoubt = (line: number) => found?.isWhole || !kept.has(line) || (isMostlyNew && found?.isVague[line])
    return new Map(all.filter(([line, each]) => each.author !== author && isDoubt(line)))
  }

  /** Author of lines that cannot be followed further, since a content is missing. */
  async #lost(place: Place, { via, parent, at, hash }: VersionNode): Promise<LineAuthor> {
    const since = parent?.at ?? at
    if (hash !== '' && parent?.hash !== '') return unknown(since, 'versions in between are missing')
    return unknown(since, 'what a command left was not read', await this.#authors.runsOf(place, [via, parent?.via]))
  }

  /** What the lines may be that nobody recorded; undefined where it is recorded, or contents are missing. */
  async #originsOf(node: VersionNode, open: OpenLines): Promise<number[][] | undefined> {
    const { via, parent } = node
    if (!parent?.hash) return undefined
    const isRecorded = via.kind === 'version' && (!via.isUnread || originOf(via.version))
    if (isRecorded) return this.#reordered(node, via.version, (map) => open.isCut(map))
    const [old, fresh] = [await this.#contentOf(parent.hash, parent), await this.#contentOf(node.hash, node)]
    const lines = old && fresh && linesOfBoth(old, fresh)
    return lines && possibleOrigins(lines.old, lines.fresh)
  }

  /** What the lines may be that a command put in another order; undefined if it did not, or its map follows all that are asked about. */
  async #reordered(
    node: VersionNode,
    { command, lineMap }: FileVersion,
    isCut: (map: LineMap) => boolean,
  ): Promise<number[][] | undefined> {
    const map = command && lineMap !== null ? readLineMap(lineMap) : []
    if (!command || lineMap === null || !isCut(map)) return undefined
    const origin = command.origin?.path ? command.origin.hash : undefined
    const old = await this.#contentOf(origin ?? node.parent?.hash, origin === undefined ? node.parent : undefined)
    const fresh = await this.#contentOf(node.hash, node)
    const lines = old && fresh && linesOfBoth(old, fresh)
    return lines && reorderedOrigins(lines.old, lines.fresh, map)
  }

  #mayBeElsewhere({ via, parent }: VersionNode): boolean {
    if (via.kind === 'version') return mayBeOfOthers(via.version)
    return via.kind === 'start' || (parent?.hash ?? null) === null
  }

  /** The lines as another file had them, if they were moved or copied from there. */
  async #elsewhere(
    place: Place,
    node: VersionNode,
    open: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    if (place.passages >= maxPassages) return undefined
    const { via } = node
    if (via.kind === 'version' && originOf(via.version)) return this.#moved(place, node, via.version, open)
    if (via.kind === 'version') return this.#merged(place, node, via.version, open)
    if (!node.hash) return undefined
    const unmatched =
      via.kind === 'start' ? await this.#authors.ofStart(place, node) : await this.#authors.of(place, node)
    const brought = via.kind === 'gap' ? { ...place, since: via.since } : place
    const lines = open.map(({ line }) => line)
    return (await handOrigins(this, brought, node.hash, lines, unmatched))?.traced
  }

  async #moved(
    place: Place,
    node: VersionNode,
    version: FileVersion,
    open: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    const origin = originOf(version)
    const map = origin && (await this.#mapOf(node))
    if (!origin || !map) return undefined
    const path = join(version.folder, origin.path)
    const isCut = () => open.some(({ line }) => lineBefore(map, line) === undefined)
    const reordered = await this.#reordered(node, version, isCut)
    const equal = await this.#equalLines(node, origin.hash)
    const from = open.map(({ line }) => {
      const all = reordered?.[line] ?? [lineBefore(map, line) ?? isNew]
      return all.includes(isNew) ? all : [...new Set([...all, ...(equal[line] ?? [])])]
    })
    const author = await this.#authors.of(place, node)
    const lines = [...new Set(from.flat())].filter((line) => line >= 0)
    const traced = await this.#fromOther({ place, author, version }, path, origin.hash, lines)
    const found = new Map(lines.map((line, at) => [line, traced[at] as TracedLine]))
    const doubt = { since: node.at, why: equalInOrder }
    const anyLine = unknown(doubt.since, doubt.why)
    return from.map((all) =>
      agreedLine(
        all.map((line) => found.get(line) ?? { author: line === isAny ? anyLine : author, passages: [] }),
        doubt,
      ),
    )
  }

  /** For each line the equal ones of another file that it may be from, by its place: a map has only one of them. */
  async #equalLines(node: VersionNode, hash: string): Promise<number[][]> {
    const [old, fresh] = [await this.#contentOf(hash, undefined), await this.#contentOf(node.hash, node)]
    const both = hash !== node.hash && old && fresh && linesOfBoth(old, fresh)
    return both ? possibleOrigins(both.old, both.fresh).map((from) => from.filter((each) => each !== isNew)) : []
  }

  /** Follows lines in what another file had before the command that left a version. */
  async #fromOther(
    { place, author, version }: { place: Place; author: LineAuthor; version: FileVersion },
    path: string,
    hash: string,
    lines: readonly number[],
  ): Promise<TracedLine[]> {
    const isGone = await this.#isRemovedBy(path, version)
    const how = isGone ? ('moved' as const) : ('copied' as const)
    const passage = { how, path, ...(author.by === 'version' && { version }) }
    const end = { hash, at: version.command?.since ?? version.at }
    const all = await this.versions.of(path)
    const versions = all.filter((each) => isBefore(each, version))
    return this.traceFrom(passage, { path, versions, all, passages: place.passages + 1, end, before: version }, lines)
  }

  /** The lines as the files had them of which a command made this content, or may have. */
  async #merged(
    place: Place,
    node: VersionNode,
    version: FileVersion,
    open: readonly { line: number }[],
  ): Promise<TracedLine[] | undefined> {
    const since = version.command?.since ?? version.at
    if (++this.#merges > maxMerges) {
      const author = unknown(since, `it was made of several files more than ${maxMerges} times`)
      return open.map(() => ({ author, passages: [] }))
    }
    const author = await this.#authors.of(place, node)
    return mergedOrigins(
      this,
      {
        version,
        author,
        since,
        own: (lines) => this.#walk({ ...place, before: version }, node.parent, lines),
        same: (lines) => copiedFromAny(this, place, { version, author }, lines),
        other: (path, hash, lines) => this.#fromOther({ place, author, version }, path, hash, lines),
      },
      open.map(({ line }) => line),
    )
  }

  async #isRemovedBy(path: string, { runId, callId }: FileVersion): Promise<boolean> {
    const all = await this.versions.of(path)
    return all.some((each) => each.runId === runId && each.callId === callId && each.command && each.after === null)
  }

  /** Which lines are of the version before; undefined if the contents are not stored. */
  async #mapOf(node: VersionNode): Promise<LineMap | undefined> {
    const { via, parent, hash } = node
    const version = via.kind === 'version' ? via.version : undefined
    const origin = version && originOf(version)?.hash
    if (origin === undefined && (parent?.hash ?? null) === null) return []
    if (version && version.lineMap !== null && !(via.kind === 'version' && via.isUnread))
      return readLineMap(version.lineMap)
    const old = await this.#contentOf(origin ?? parent?.hash, origin === undefined ? parent : undefined)
    const fresh = await this.#contentOf(hash, node)
    return (old && fresh && mapContents(old, fresh)) ?? undefined
  }

  #contentOf(hash: string | null | undefined, node: VersionNode | undefined): Promise<Buffer | undefined> {
    const via = node?.via
    return hash
      ? this.contents.get(hash, via?.kind === 'version' ? via.version : undefined)
      : Promise.resolve(undefined)
  }
}

const equalByHand = 'the file was changed outside heddle, and the version before had equal lines'
const equalInOrder = 'a command put lines in another order, and equal ones were there before'

/** Whether a command may have brought a content from other files. */
function mayBeOfOthers({ before, command }: FileVersion): boolean {
  return command !== undefined && (command.origin !== undefined || before === null)
}

/** The file that a command moved or copied there, if it is known. */
function originOf({ command }: FileVersion): { path: string; hash: string } | undefined {
  return command?.origin?.path === '' ? undefined : command?.origin
}
