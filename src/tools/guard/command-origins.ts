import type { CommandVersion, ReadContent } from '../../domain/tools/touched.ts'

/** A folder's files before a command: fingerprints of all, and the contents of those that were read. */
export interface FolderBefore {
  marks: ReadonlyMap<string, string>
  contents: ReadonlyMap<string, ReadContent>
}

/** A shorter content may be the same by chance. */
const minBytes = 40
const minLines = 2
/** Share of the lines of a moved file that are still there when it was changed, too. */
const minShare = 0.5

/**
 * Adds to each new content the file that it was moved or copied from, where only one can be meant: of files that are gone
 * one with the same content, or with most of its lines; else of all files the one with the same content, if the new one was
 * not there before or that one has lost it, as when two files are swapped. The path is empty where several had it.
 */
export function withOrigins(versions: readonly CommandVersion[], folder: FolderBefore): CommandVersion[] {
  const gone = versions.filter(({ before, after }) => before?.bytes && after === null)
  const isComplete = [...folder.marks.keys()].every((path) => folder.contents.has(path))
  const byHash = Map.groupBy(folder.contents, ([, { sha256 }]) => sha256)
  const changed = new Set(versions.map(({ path }) => path))
  const taken = new Set<string>()
  const moved = new Map<string, string>()
  const fresh = versions.filter(({ before, after }) => after?.bytes && after.sha256 !== before?.sha256)
  for (const { path, after } of fresh) {
    const same = gone.filter((each) => each.before?.sha256 === after?.sha256)
    const from = nearestName(path, same)
    // However short: one command took it away there and left it here.
    if (from === undefined || after?.bytes?.length === 0) continue
    taken.add(from)
    moved.set(path, from)
  }
  for (const { path, before, after } of fresh) {
    if (moved.has(path)) continue
    const copied = (byHash.get(after?.sha256 ?? '') ?? []).map(([from]) => from).filter((from) => from !== path)
    const [only] = copied
    const [left, ...others] = copied.filter((from) => changed.has(from))
    // A file that there was may as well have been written anew, unless the content has left another file.
    if (left !== undefined && others.length === 0 && hasSubstance(after)) moved.set(path, left)
    else if (only !== undefined && before === null && hasSubstance(after))
      moved.set(path, copied.length === 1 && isComplete ? only : '')
    else if (only === undefined) {
      const from = mostAlike(
        { before, after },
        gone.filter((each) => !taken.has(each.path)),
      )
      if (from === undefined) continue
      taken.add(from)
      moved.set(path, from)
    }
  }
  return versions.map((version) => {
    const path = moved.get(version.path)
    const content = path === '' ? version.after : folder.contents.get(path ?? '')
    return path === undefined || !content ? version : { ...version, origin: { path, content } }
  })
}

function hasSubstance(content: ReadContent | null): boolean {
  const { bytes } = content ?? {}
  return bytes !== undefined && bytes.length >= minBytes && linesOf(content).size >= minLines
}

/** The one whose path ends most alike; undefined if two do. */
function nearestName(path: string, all: readonly CommandVersion[]): string | undefined {
  const scored = all.map((each) => ({ path: each.path, score: sharedEnd(each.path, path) }))
  const [best, next] = scored.sort((a, b) => b.score - a.score)
  return best && (!next || best.score > next.score) ? best.path : undefined
}

function sharedEnd(a: string, b: string): number {
  const [x, y] = [a.split('/').reverse(), b.split('/').reverse()]
  let same = 0
  while (same < x.length && x[same] === y[same]) same++
  return same
}

/** The file that is gone of which most lines are there; undefined if two come into question. */
function mostAlike(
  { before: own, after }: Pick<CommandVersion, 'before' | 'after'>,
  gone: readonly CommandVersion[],
): string | undefined {
  const lines = linesOf(after)
  const sharedWith = (old: Set<string>) => [...old].filter((line) => lines.has(line)).length
  // A file that was overwritten by another one has little of what it had.
  const kept = own ? sharedWith(linesOf(own)) : 0
  const alike = gone.filter(({ before }) => {
    const old = linesOf(before)
    const shared = sharedWith(old)
    return shared >= minLines && shared > 2 * kept && shared >= minShare * Math.max(old.size, lines.size)
  })
  return alike.length === 1 ? alike[0]?.path : undefined
}

/** Lines that say something, without their ends. */
function linesOf(content: ReadContent | null): Set<string> {
  const lines = content?.bytes?.toString('utf8').split(/\r?\n/) ?? []
  return new Set(lines.filter((line) => line.trim().length > 3))
}
