import type { ReadContent } from '../../domain/tools/touched.ts'
import { nearestName } from './lost-files.ts'
import { distinctLines, isSignificantLine } from './shared-lines.ts'

/** A copy that was changed has so much in common with the other file. */
const minCopiedLines = 6
const minCopiedShare = 2 / 3
/** A line that more files have does not tell where a content comes from. */
const maxFilesWithLine = 20
/** Of larger folders only so much is searched. */
const maxBytesSearched = 8 * 2 ** 20

/** Finds the files of a folder that others may be changed copies of. All are compared at once, and only if one is asked about. */
export class SimilarFiles {
  readonly #contents: ReadonlyMap<string, ReadContent>
  readonly #added: readonly (ReadContent | null)[]
  #filesByLine: Map<string, string[]> | undefined

  /** `added`: contents that may be asked about. */
  constructor(contents: ReadonlyMap<string, ReadContent>, added: readonly (ReadContent | null)[]) {
    this.#contents = contents
    this.#added = added
  }

  /** Files that have lines of a new content, and all that it kept of the content before: those with the most lines first. */
  filesWithLines(path: string, content: ReadContent, before: ReadContent | null): string[] {
    const lines = linesOf(content)
    const old = new Set(linesOf(before))
    const kept = lines.filter((line) => old.has(line))
    const hasKept = (file: string) => kept.every((line) => this.#filesByLine?.get(line)?.includes(file))
    const shared = [...this.#shared(lines)].filter(([file]) => file !== path && hasKept(file))
    return shared.sort(([, a], [, b]) => b - a).map(([file]) => file)
  }

  /** The file that has most of the lines of a new one. */
  originOf(path: string, content: ReadContent): string | undefined {
    const lines = linesOf(content)
    if (lines.length < minCopiedLines) return undefined
    const shared = this.#shared(lines, maxFilesWithLine)
    const most = Math.max(0, ...shared.values())
    if (most < minCopiedLines || most < minCopiedShare * lines.length) return undefined
    const best = [...shared]
      .filter(([file, count]) => count === most && file !== path)
      .map(([file]) => ({ path: file }))
    return nearestName(path, best) ?? best[0]?.path
  }

  /** How many of these lines each file has, except those that too many have. */
  #shared(lines: readonly string[], maxFiles = Number.POSITIVE_INFINITY): Map<string, number> {
    const filesByLine = this.#filesByLine ?? this.#readFiles()
    this.#filesByLine = filesByLine
    const shared = new Map<string, number>()
    for (const line of lines) {
      const files = filesByLine.get(line) ?? []
      for (const file of files.length > maxFiles ? [] : files) shared.set(file, (shared.get(file) ?? 0) + 1)
    }
    return shared
  }

  /** The files that have each line of the new contents. */
  #readFiles(): Map<string, string[]> {
    const found = new Map<string, string[]>()
    for (const content of this.#added) for (const line of linesOf(content)) found.set(line, [])
    let searched = 0
    for (const [path, { bytes }] of this.#contents) {
      searched += bytes?.length ?? 0
      if (searched > maxBytesSearched) break
      for (const line of distinctLines(bytes)) found.get(line)?.push(path)
    }
    return found
  }
}

function linesOf(content: ReadContent | null): string[] {
  return [...distinctLines(content?.bytes)].filter(isSignificantLine)
}
