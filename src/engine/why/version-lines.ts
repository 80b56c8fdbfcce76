import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { type LineChoice, originsAt } from '../files/line-choices.ts'
import { type LineMap, linesOfBoth, mapContents, mapReordered, readLineMap } from '../files/line-map.ts'
import { linesIn } from '../files/match-lines.ts'
import { newLine, possibleOrigins } from '../files/possible-origins.ts'
import type { FileContents } from './file-contents.ts'
import type { VersionNode } from './version-chain.ts'

/** The lines of versions, and where they come from in the version before. */
export class VersionLines {
  readonly #contents: FileContents
  readonly #recorded = new WeakMap<FileVersion, ReturnType<typeof readLineMap>>()

  constructor(contents: FileContents) {
    this.#contents = contents
  }

  contentOf({ hash, via }: Pick<VersionNode, 'hash' | 'via'>): Promise<Buffer | undefined> {
    const version = via.kind === 'version' ? via.version : undefined
    return hash ? this.#contents.get(hash, version) : Promise.resolve(undefined)
  }

  /** None if there is no file, or its content is not stored or no text. */
  async textsOf(node: VersionNode | undefined): Promise<string[]> {
    return linesIn(decodeText((node && (await this.contentOf(node))) ?? Buffer.alloc(0)) ?? '')
  }

  /** Map to the lines of the version before, the likeliest ones; undefined if the contents are not stored. */
  async mapOf(node: VersionNode): Promise<LineMap | undefined> {
    const { via, parent } = node
    const origin = via.kind === 'version' ? recordedOrigin(via.version)?.hash : undefined
    if (origin === undefined && (parent?.hash ?? null) === null) return []
    const recorded = this.#recordedOf(node)
    if (recorded) return recorded.map
    const before = await this.#before(node, origin)
    const after = await this.contentOf(node)
    return (before && after && mapContents(before, after)?.map) || undefined
  }

  /** Possible origins of each line after a change that no record tells; undefined if one does, or contents are missing. */
  async possibleOriginsOf(node: VersionNode): Promise<number[][] | undefined> {
    const { via, parent } = node
    if (!parent?.hash) return undefined
    if (via.kind === 'version' && (!via.isUnread || recordedOrigin(via.version))) return undefined
    const [before, after] = [await this.contentOf(parent), await this.contentOf(node)]
    const lines = before && after && linesOfBoth(before, after)
    return lines && possibleOrigins(lines.oldLines, lines.newLines)
  }

  /** Lines with several possible origins after a recorded change. `hasUnmapped`: whether a map lacks some that are asked about. */
  async choicesOf(node: VersionNode, hasUnmapped: (map: LineMap) => boolean): Promise<readonly LineChoice[]> {
    const { via } = node
    const recorded = this.#recordedOf(node)
    if (!recorded || recorded.choices || via.kind !== 'version') return recorded?.choices ?? []
    const { command } = via.version
    // Of an older record: it may have put lines in another order.
    if (!command || !hasUnmapped(recorded.map)) return []
    const after = await this.contentOf(node)
    const before = after && (await this.#before(node, command.origin?.path ? command.origin.hash : undefined))
    recorded.choices = (before && mapReordered(before, after)?.choices) ?? []
    return recorded.choices
  }

  /** For each line the equal lines of another content that fit its position: a map has only one of them. */
  async equalLines(node: VersionNode, hash: string): Promise<number[][]> {
    const [before, after] = [await this.#contents.get(hash), await this.contentOf(node)]
    const both = hash !== node.hash && before && after && linesOfBoth(before, after)
    return both
      ? possibleOrigins(both.oldLines, both.newLines).map((from) => from.filter((each) => each !== newLine))
      : []
  }

  #recordedOf({ via }: VersionNode): ReturnType<typeof readLineMap> | undefined {
    if (via.kind !== 'version' || via.version.lineMap === null || via.isUnread) return undefined
    const { version } = via
    const recorded = this.#recorded.get(version) ?? readLineMap(version.lineMap ?? '')
    this.#recorded.set(version, recorded)
    return recorded
  }

  #before({ parent }: VersionNode, origin: string | undefined): Promise<Buffer | undefined> {
    if (origin !== undefined) return this.#contents.get(origin)
    return parent ? this.contentOf(parent) : Promise.resolve(undefined)
  }
}

/** The file that a command moved or copied a version from; undefined if that is unknown or ambiguous. */
export function recordedOrigin({ command }: FileVersion): { path: string; hash: string } | undefined {
  return command?.origin?.path === '' ? undefined : command?.origin
}

/** Possible origins of these lines, of those that a change leaves open. */
export function originsAmong(choices: readonly LineChoice[], lines: readonly number[]): Map<number, number[]> {
  const asked = new Set(choices.length === 0 ? [] : lines)
  const origins = new Map<number, number[]>()
  for (const choice of choices)
    for (let line = choice.at; line < choice.at + choice.count; line++)
      if (asked.has(line)) origins.set(line, originsAt(choice, line))
  return origins
}
