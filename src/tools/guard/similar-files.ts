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

/** Finds the files of a folder that new ones may be changed copies of. All are compared at once, and only if one is asked about. */
export class SimilarFiles {
  readonly #contents: ReadonlyMap<string, ReadContent>
  readonly #added: readonly (ReadContent | null)[]
  #filesByLine: Map<string, string[]> | undefined

  /** `added`: contents that may be asked about. */
  constructor(contents: ReadonlyMap<string, ReadContent>, added: readonly (ReadContent | null)[]) {
    this.#contents = contents
    this.#added = added
  }

  /** The file that has most of the lines of a new one. */
  originOf(path: string, content: ReadContent): string | undefined {
    const lines = linesOf(content)
    if (lines.length < minCopiedLines) return undefined
    const filesByLine = this.#filesByLine ?? this.#readFiles()
    this.#filesByLine = filesByLine
    const shared = new Map<string, number>()
    for (const line of lines) {
      const files = filesByLine.get(line) ?? []
      if (files.length > maxFilesWithLine) continue
      for (const file of files) shared.set(file, (shared.get(file) ?? 0) + 1)
    }
    const most = Math.max(0, ...shared.values())
    if (most < minCopiedLines || most < minCopiedShare * lines.length) return undefined
    const best = [...shared]
      .filter(([file, count]) => count === most && file !== path)
      .map(([file]) => ({ path: file }))
    return nearestName(path, best) ?? best[0]?.path
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
