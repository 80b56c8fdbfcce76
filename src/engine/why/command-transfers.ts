import { join, relative } from 'node:path'
import type { FileTimes } from '../../domain/tools/path-handle.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { lineBefore } from '../files/line-map.ts'
import { anyEqualLine, newLine } from '../files/possible-origins.ts'
import { equalAfterCommand, isInCommand, traceCopiedContent } from './copied-contents.ts'
import { mergedOrigins } from './merged-origins.ts'
import { equalAfterChange } from './open-lines.ts'
import {
  isBefore,
  type LineAuthor,
  mergeTracedLines,
  type TracedFile,
  type TracedLine,
  type Tracer,
  unknownAuthor,
} from './traced-line.ts'
import type { VersionNode } from './version-chain.ts'
import { originsAmong, recordedOrigin, type VersionLines } from './version-lines.ts'

/** Max contents made of several files that are followed further. */
const maxMerges = 100

/** A version that a command left, and the author of its new lines. */
interface LeftVersion {
  file: TracedFile
  node: VersionNode
  version: FileVersion
  author: LineAuthor
}

/** Follows lines that commands moved or copied from other files. */
export class CommandTransfers {
  readonly #tracer: Tracer
  readonly #lines: VersionLines
  /** Contents made of several files that were followed so far. */
  #merges = 0

  constructor(tracer: Tracer, lines: VersionLines) {
    this.#tracer = tracer
    this.#lines = lines
  }

  /** Traces lines in the other files; undefined if there are none. `own` traces lines in the previous content of the file itself. */
  originsOf(
    left: LeftVersion,
    open: readonly { line: number }[],
    own: (lines: readonly number[]) => Promise<TracedLine[]>,
  ): Promise<TracedLine[] | undefined> {
    const lines = open.map(({ line }) => line)
    const origin = recordedOrigin(left.version)
    return origin ? this.#originsInRecordedFile(left, origin, lines) : this.#originsInMergedFiles(left, lines, own)
  }

  async #originsInRecordedFile(
    left: LeftVersion,
    origin: { path: string; hash: string },
    lines: readonly number[],
  ): Promise<TracedLine[] | undefined> {
    const { node, version, author } = left
    const map = await this.#lines.mapOf(node)
    if (!map) return undefined
    const path = join(version.folder, origin.path)
    const hasUnmapped = () => lines.some((line) => lineBefore(map, line) === undefined)
    const leftOpen = originsAmong(await this.#lines.choicesOf(node, hasUnmapped), lines)
    const equal = await this.#lines.equalLines(node, origin.hash)
    const from = lines.map((line) => {
      const all = leftOpen.get(line) ?? [lineBefore(map, line) ?? newLine]
      return all.includes(newLine) ? all : [...new Set([...all, ...(equal[line] ?? [])])]
    })
    const asked = [...new Set(from.flat())].filter((line) => line >= 0)
    const traced = await this.#traceInOtherFile(left, path, origin.hash, asked)
    const found = new Map(asked.map((line, at) => [line, traced[at] as TracedLine]))
    const isProved = await this.#isTransferProved(path, version)
    const command = (await this.#tracer.calls.commandOf(version)) ?? ''
    const texts = isProved ? [] : await this.#lines.textsOf(node)
    const doubt = { since: node.at, why: isProved ? equalAfterChange : equalAfterCommand }
    const written: TracedLine = { author, transfers: [] }
    const anyLine: TracedLine = { author: unknownAuthor(doubt.since, doubt.why), transfers: [] }
    const originOf = (line: number) => found.get(line) ?? (line === anyEqualLine ? anyLine : written)
    return from.map((all, at) => {
      if (isProved) return mergeTracedLines(all.map(originOf), doubt)
      const isOwn = isInCommand(command, texts[lines[at] ?? 0])
      return mergeTracedLines([...(isOwn ? [] : all.map(originOf)), written], doubt)
    })
  }

  /** Traces lines in the files of which a command made this content, or may have. */
  async #originsInMergedFiles(
    left: LeftVersion,
    lines: readonly number[],
    own: (lines: readonly number[]) => Promise<TracedLine[]>,
  ): Promise<TracedLine[] | undefined> {
    const { file, version, author } = left
    const since = version.command?.since ?? version.at
    if (++this.#merges > maxMerges) {
      const unknown = unknownAuthor(since, `it was made of several files more than ${maxMerges} times`)
      return lines.map(() => ({ author: unknown, transfers: [] }))
    }
    const command = (await this.#tracer.calls.commandOf(version)) ?? ''
    const texts = await this.#lines.textsOf(left.node)
    return mergedOrigins(
      this.#tracer,
      {
        ...{ version, author, since, own },
        isInCommand: (line) => isInCommand(command, texts[line]),
        isTransferProved: (path) => this.#isTransferProved(path, version),
        same: (asked) => traceCopiedContent(this.#tracer, file, { version, author }, asked),
        other: (path, hash, asked) => this.#traceInOtherFile(left, path, hash, asked),
      },
      lines,
    )
  }

  /** Traces lines in the content of another file before the command that left a version. */
  async #traceInOtherFile(
    { file, author, version }: LeftVersion,
    path: string,
    hash: string,
    lines: readonly number[],
  ): Promise<TracedLine[]> {
    const isGone = (await this.#changeOf(path, version))?.after === null
    const how = isGone ? ('moved' as const) : ('copied' as const)
    const transfer = { how, path, ...(author.by === 'version' && { version }) }
    const end = { hash, at: version.command?.since ?? version.at }
    const all = await this.#tracer.versions.of(path)
    const versions = all.filter((each) => isBefore(each, version))
    const transferCount = file.transferCount + 1
    const times = await this.#timesBefore(version, path, hash)
    const source = { path, versions, all, transferCount, end, before: version, ...times }
    const traced = await this.#tracer.traceFrom(transfer, source, lines)
    return path === file.path ? traced.map((each) => ({ ...each, transfers: each.transfers.slice(1) })) : traced
  }

  /** Times of a file that is still as it was before a command. */
  async #timesBefore({ folder, command }: FileVersion, path: string, hash: string): Promise<FileTimes | undefined> {
    const now = await this.#tracer.disk.read({ folder, path: relative(folder, path) })
    const isUnchanged = now?.kind === 'file' && now.sha256 === hash && now.times.changedAt < (command?.since ?? 0)
    return isUnchanged ? now.times : undefined
  }

  /** Whether a command has moved or copied a file, instead of writing the same: it is that file, or a step of the command does so. */
  async #isTransferProved(path: string, version: FileVersion): Promise<boolean> {
    const identity = (await this.#changeOf(path, version))?.replaced?.identity
    if (identity !== undefined && identity === version.identity) return true
    const transfers = await this.#tracer.calls.transfersOf(version)
    return transfers(relative(version.folder, path), version.path)
  }

  /** What the command that left a version did to the file at this path. */
  async #changeOf(path: string, { runId, callId }: FileVersion): Promise<FileVersion | undefined> {
    const all = await this.#tracer.versions.of(path)
    return all.find((each) => each.runId === runId && each.callId === callId && each.command)
  }
}
