import { dirname, join } from 'node:path'
import type { FileName } from '../../store/rows/files/file-versions.ts'
import { hasRecords, type LineRecord, lineRecordsBelow } from '../../store/rows/files/line-hashes.ts'
import type { Reading } from '../../store/store.ts'
import { namesInFolders } from '../files/file-author.ts'
import { hashLine, unpackLineHashes } from '../files/line-hashes.ts'

/** Max records that are read from each table. */
const maxRecords = 200_000

/** A recorded file that has lines of a text in some version. */
interface FileWithLines {
  name: FileName
  /** Number of the text's lines that the file ever had, and of those of them that are new; all if its records do not tell. */
  shared: number
  sharedNew: number
  /** The state after some record was not the one before the next: the file was changed in between, or moved away. */
  hasGap: boolean
}

/** Recorded lines of a file. */
interface RecordedLines {
  name: FileName
  hashes: Int32Array[]
  isComplete: boolean
  hasGap: boolean
  /** Hash before the record that was read last: the one that was made first. */
  before: string | null
}

/** Finds recorded files by their lines, in the folders of sessions around a file. Records are read once per answer. */
export class LineIndex {
  readonly #rows: Reading
  readonly #byRoot = new Map<string, RecordedFiles>()

  constructor(rows: Reading) {
    this.#rows = rows
  }

  /**
   * Files other than the one at this path with any of these lines; `isCut` if there are too many records to read. `newLines`: the part
   * of them that the file did not have before.
   */
  async filesWith(
    path: string,
    lines: ReadonlySet<string>,
    newLines: ReadonlySet<string>,
  ): Promise<{ files: FileWithLines[]; isCut: boolean }> {
    const { files, isCut } = await this.#recordedAround(path)
    const isNew = new Map([...lines].map((line) => [hashLine(line), newLines.has(line)]))
    const found: FileWithLines[] = []
    for (const [whole, { name, hashes, isComplete, hasGap }] of files) {
      const known = isComplete ? sharedHashes(hashes, isNew) : [...isNew.keys()]
      if (whole === path || known.length === 0) continue
      const sharedNew = known.filter((hash) => isNew.get(hash)).length
      found.push({ name, shared: known.length, sharedNew, hasGap })
    }
    return { files: found, isCut }
  }

  /** Files that were recorded from the topmost folder of a session above this path, or below the path's directory if there is none. */
  async #recordedAround(path: string): Promise<RecordedFiles> {
    const folders = namesInFolders(path).map(({ folder }) => folder)
    let root = dirname(path)
    for (const folder of folders.toReversed())
      if (folder !== '/' && (await hasRecords(this.#rows, folder))) {
        root = folder
        break
      }
    const known = this.#byRoot.get(root) ?? (await this.#read(root))
    this.#byRoot.set(root, known)
    return known
  }

  async #read(root: string): Promise<RecordedFiles> {
    const records = await lineRecordsBelow(this.#rows, root, maxRecords)
    const files = new Map<string, RecordedLines>()
    for (const record of records) addRecord(files, record)
    return { files, isCut: records.length >= maxRecords }
  }
}

interface RecordedFiles {
  /** By absolute path. */
  files: Map<string, RecordedLines>
  isCut: boolean
}

/** Records of tools come first, those of commands after them, each the newest first: a file that has both counts as one with a gap. */
function addRecord(files: Map<string, RecordedLines>, { folder, path, before, after, lineHashes }: LineRecord): void {
  const whole = join(folder, path)
  const known = files.get(whole)
  const file = known ?? { name: { folder, path }, hashes: [], isComplete: true, hasGap: false, before }
  if (known && after !== known.before) file.hasGap = true
  file.before = before
  if (lineHashes === null) file.isComplete = false
  else if (lineHashes !== '') file.hashes.push(unpackLineHashes(lineHashes))
  if (!known) files.set(whole, file)
}

function sharedHashes(hashes: readonly Int32Array[], wanted: ReadonlyMap<number, unknown>): number[] {
  const found = new Set<number>()
  for (const each of hashes) for (const hash of each) if (wanted.has(hash)) found.add(hash)
  return [...found]
}
