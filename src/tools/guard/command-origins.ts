import type { CommandVersion, FolderBefore, ReadContent } from '../../domain/tools/touched.ts'
import { LostFiles, nearestName } from './lost-files.ts'
import { distinctLines, isSignificantLine } from './shared-lines.ts'

/** A shorter content may be the same by chance. */
const minBytes = 40
const minLines = 2

/**
 * Adds to each new content the file that it was moved or copied from, where only one can be meant: of files that are gone
 * one with the same content; of all files the one with the same content, if the new one was not there before or that one has
 * lost it, as when two files are swapped; of files that were lost the one that it is made of. The path is empty where several
 * come into question.
 */
export function withOrigins(versions: readonly CommandVersion[], folder: FolderBefore): CommandVersion[] {
  const gone = versions.filter(({ before, after }) => before?.bytes && after === null)
  const isComplete = [...folder.marks.keys()].every((path) => folder.contents.has(path))
  const byHash = Map.groupBy(folder.contents, ([, { sha256 }]) => sha256)
  const changed = new Set(versions.map(({ path }) => path))
  const lost = new LostFiles(versions)
  const originOf = ({ path, before, after }: CommandVersion): string | undefined => {
    if (!after?.bytes || after.bytes.length === 0) return undefined
    // However short: one command took it away there and left it here.
    const same = gone.filter((each) => each.before?.sha256 === after.sha256)
    // The file may have been there all the time, or another one that had the same was moved onto it.
    if (after.sha256 === before?.sha256) return same.length > 0 ? '' : undefined
    const moved = nearestName(path, same)
    if (moved !== undefined) return moved
    const copied = (byHash.get(after.sha256) ?? []).map(([from]) => from).filter((from) => from !== path)
    const [only] = copied
    const [left, ...others] = copied.filter((from) => changed.has(from))
    // A file that there was may as well have been written anew, unless the content has left another file.
    if (left !== undefined && others.length === 0 && (before === null || hasSubstance(after))) return left
    if (left !== undefined && !hasSubstance(after)) return ''
    if (same.length > 1) return ''
    if (only !== undefined && before === null && hasSubstance(after))
      return copied.length === 1 && isComplete ? only : ''
    return only === undefined ? lost.originOf({ path, before, after }) : undefined
  }
  return versions.map((version) => {
    const path = originOf(version)
    const content = path === '' ? version.after : folder.contents.get(path ?? '')
    return path === undefined || !content ? version : { ...version, origin: { path, content } }
  })
}

function hasSubstance(content: ReadContent | null): boolean {
  const { bytes } = content ?? {}
  return (
    bytes !== undefined &&
    bytes.length >= minBytes &&
    [...distinctLines(bytes)].filter(isSignificantLine).length >= minLines
  )
}
