import type { CommandVersion, FolderBefore, ReadContent } from '../../domain/tools/touched.ts'
import type { Transfers } from '../exec/copied-files.ts'
import { LostFiles, nearestName } from './lost-files.ts'
import { distinctLines, isSignificantLine } from './shared-lines.ts'
import { SimilarFiles } from './similar-files.ts'

/** A shorter content may be equal by chance. */
const minBytes = 40
const minLines = 2
/** Max files that are looked for in the steps of a command. */
const maxAsked = 100

/**
 * Adds to each new content the file that it was moved or copied from, if there is only one candidate: a removed file with the same
 * content; else any file with the same content, if the new file did not exist before or the other one lost its content, as when two
 * files are swapped, or a step of the command `copies` it; else the lost file that it is made of; else one that has some of its
 * lines, among them all that the file kept, and is copied by a step; else, for a new file, one that has most of its lines. A file of which the old one has another name now is a new one, perhaps made of that: then the path is its own. The path is empty
 * if there are several candidates.
 */
export function withOrigins(
  versions: readonly CommandVersion[],
  folder: FolderBefore,
  copies: Transfers,
): CommandVersion[] {
  const removed = versions.filter(({ before, after }) => before?.bytes && after === null)
  const isAllRead = [...folder.marks.keys()].every((path) => folder.contents.has(path))
  const byHash = Map.groupBy(folder.contents, ([, { sha256 }]) => sha256)
  const changed = new Set(versions.map(({ path }) => path))
  const lost = new LostFiles(versions)
  const copied = new Set(versions.filter(({ path }) => copies(undefined, path)))
  const similar = new SimilarFiles(
    folder.contents,
    versions.flatMap((each) => (each.before === null || copied.has(each) ? [each.after] : [])),
  )
  const pathsNow = new Map(versions.flatMap(({ path, after }) => [[after?.times?.identity, path] as const]))
  const isRenamed = ({ path, before }: CommandVersion) => {
    const identity = before?.times?.identity
    return before?.bytes !== undefined && identity !== undefined && (pathsNow.get(identity) ?? path) !== path
  }
  /** The one of these files that a step of the command copies to a path. */
  const sourceOf = (path: string, files: readonly string[]) => {
    const sources = files.slice(0, maxAsked).flatMap((from) => (copies(from, path) ? { path: from } : []))
    return sources.length === 1 ? sources[0]?.path : nearestName(path, sources)
  }
  const originOf = (version: CommandVersion): string | undefined => {
    const { path, before, after } = version
    if (!after?.bytes || after.bytes.length === 0) return undefined
    // Of any length: one command removed it there and left it here.
    const same = removed.filter((each) => each.before?.sha256 === after.sha256)
    // The file may be unchanged, or another one with the same content was moved onto it.
    if (after.sha256 === before?.sha256) return same.length > 0 ? '' : undefined
    const moved = nearestName(path, same)
    if (moved !== undefined) return moved
    const equal = (byHash.get(after.sha256) ?? []).map(([from]) => from).filter((from) => from !== path)
    const [only] = equal
    const [lostIn, ...others] = equal.filter((from) => changed.has(from))
    // An existing file may also have been rewritten, unless another file lost this content.
    if (lostIn !== undefined && others.length === 0 && (before === null || isDistinctiveContent(after))) return lostIn
    if (lostIn !== undefined && !isDistinctiveContent(after)) return ''
    if (same.length > 1) return ''
    const exact = copied.has(version) ? sourceOf(path, equal) : undefined
    if (exact !== undefined) return exact
    if (only !== undefined && before === null && isDistinctiveContent(after))
      return equal.length === 1 && isAllRead ? only : ''
    const own = isRenamed(version) ? path : undefined
    if (only !== undefined) return own
    const lostFile = lost.originOf(version)
    if (lostFile !== undefined) return lostFile
    const source = copied.has(version) ? sourceOf(path, similar.filesWithLines(path, after, before)) : undefined
    return source ?? (before === null ? similar.originOf(path, after) : own)
  }
  return versions.map((version) => {
    const path = originOf(version)
    const content = path === '' ? version.after : folder.contents.get(path ?? '')
    return path === undefined || !content ? version : { ...version, origin: { path, content } }
  })
}

function isDistinctiveContent(content: ReadContent | null): boolean {
  const { bytes } = content ?? {}
  return (
    bytes !== undefined &&
    bytes.length >= minBytes &&
    [...distinctLines(bytes)].filter(isSignificantLine).length >= minLines
  )
}
