import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { type LineMap, linesOfBoth, mapContents, readLineMap } from '../files/line-map.ts'
import { linesIn } from '../files/match-lines.ts'
import type { FileContents } from './file-contents.ts'
import { newLine, possibleOrigins } from './possible-origins.ts'
import { reorderedOrigins } from './reordered-origins.ts'
import type { VersionNode } from './version-chain.ts'

/** The lines of versions, and where they come from in the version before. */
export class VersionLines {
  readonly #contents: FileContents
  readonly #maps = new WeakMap<FileVersion, LineMap>()

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

  /** Map to the lines of the version before; undefined if the contents are not stored. */
  async mapOf(node: VersionNode): Promise<LineMap | undefined> {
    const { via, parent } = node
    const version = via.kind === 'version' ? via.version : undefined
    const origin = version && recordedOrigin(version)?.hash
    if (origin === undefined && (parent?.hash ?? null) === null) return []
    if (version && version.lineMap !== null && !(via.kind === 'version' && via.isUnread))
      return this.#recordedMap(version, version.lineMap)
    const before = await this.#before(node, origin)
    const after = await this.contentOf(node)
    return (before && after && mapContents(before, after)) ?? undefined
  }

  /** Possible origins of each line where none are recorded; undefined if they are, or contents are missing. */
  async possibleOriginsOf(node: VersionNode, hasUnmapped: (map: LineMap) => boolean): Promise<number[][] | undefined> {
    const { via, parent } = node
    if (!parent?.hash) return undefined
    const isRecorded = via.kind === 'version' && (!via.isUnread || recordedOrigin(via.version))
    if (isRecorded) return this.reorderedOriginsOf(node, via.version, hasUnmapped)
    const [before, after] = [await this.contentOf(parent), await this.contentOf(node)]
    const lines = before && after && linesOfBoth(before, after)
    return lines && possibleOrigins(lines.oldLines, lines.newLines)
  }

  /** Possible origins of each line that a command reordered; undefined if it did not, or its map has all requested lines. */
  async reorderedOriginsOf(
    node: VersionNode,
    version: FileVersion,
    hasUnmapped: (map: LineMap) => boolean,
  ): Promise<number[][] | undefined> {
    const { command, lineMap } = version
    if (!command || lineMap === null) return undefined
    const map = this.#recordedMap(version, lineMap)
    if (!hasUnmapped(map)) return undefined
    // A content that a command left is stored, if any is.
    const after = await this.contentOf(node)
    const before = after && (await this.#before(node, command.origin?.path ? command.origin.hash : undefined))
    const lines = before && linesOfBoth(before, after)
    return lines && reorderedOrigins(lines.oldLines, lines.newLines, map)
  }

  /** For each line the equal lines of another content that fit its position: a map has only one of them. */
  async equalLines(node: VersionNode, hash: string): Promise<number[][]> {
    const [before, after] = [await this.#contents.get(hash), await this.contentOf(node)]
    const both = hash !== node.hash && before && after && linesOfBoth(before, after)
    return both
      ? possibleOrigins(both.oldLines, both.newLines).map((from) => from.filter((each) => each !== newLine))
      : []
  }

  #recordedMap(version: FileVersion, text: string): LineMap {
    const map = this.#maps.get(version) ?? readLineMap(text)
    this.#maps.set(version, map)
    return map
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
