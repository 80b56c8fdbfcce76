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
  newLines: () => readonly number[],
  walk: (earlier: VersionNode, lines: readonly number[]) => Promise<TracedLine[]>,
): Promise<Map<number, TracedLine>> {
  const { earlier } = node
  const lines = earlier ? newLines() : []
  if (!earlier || lines.length === 0) return new Map()
  const doubt = { since: node.at, why: 'a command brought back a content that the file had before' }
  const then = await walk(earlier, lines)
  return new Map(
    lines.map((line, at) => {
      const all = [{ author, transfers: [] }, ...(then[at] ? [then[at]] : [])]
      return [line, mergeTracedLines(all, doubt)]
    }),
  )
}

/** Lines that may be new in a version. */
export function newLinesOf(origins: readonly number[][], lines: readonly { line: number }[]): number[] {
  return lines.flatMap(({ line }) => (origins[line]?.includes(newLine) ? line : []))
}
