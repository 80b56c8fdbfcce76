import { newLine } from './possible-origins.ts'
import { type LineAuthor, mergeTracedLines, type TracedLine } from './traced-line.ts'
import type { VersionNode } from './version-chain.ts'

/**
 * Lines of a content that a command brought back, as `git stash pop` does: the file had it before. They may be those of that time, or
 * written anew; `walk` follows lines of an earlier version.
 */
export async function linesBroughtBack(
  node: VersionNode,
  author: LineAuthor,
  lines: readonly number[],
  walk: (earlier: VersionNode, lines: readonly number[]) => Promise<TracedLine[]>,
): Promise<Map<number, TracedLine>> {
  const earlier = node.via.kind === 'version' && node.via.version.command ? ancestorWith(node) : undefined
  if (!earlier) return new Map()
  const doubt = { since: node.at, why: 'a command brought back a content that the file had before' }
  const then = await walk(earlier, lines)
  return new Map(
    lines.map((line, at) => {
      const all = [{ author, transfers: [] }, ...(then[at] ? [then[at]] : [])]
      return [line, mergeTracedLines(all, doubt)]
    }),
  )
}

/** The last version before this one with the same content. */
function ancestorWith({ hash, parent }: VersionNode): VersionNode | undefined {
  let each = hash ? parent : undefined
  while (each && each.hash !== hash) each = each.parent
  return each
}

/** Lines that may be new in a version. */
export function newLinesOf(origins: readonly number[][], lines: readonly { line: number }[]): number[] {
  return lines.flatMap(({ line }) => (origins[line]?.includes(newLine) ? line : []))
}
