import { dirname, join } from 'node:path'
import type { FileName, FileVersion } from '../../../store/rows/files/file-versions.ts'
import {
  hasRecords,
  type LineRecord,
  lineRecordsBelow,
  lineRecordsElsewhere,
} from '../../../store/rows/files/line-hashes.ts'
import type { Reading } from '../../../store/store.ts'
import { namesInFolders } from '../../files/file-author.ts'
import { hashCount, hashesInRow, hashLine } from '../../files/line-hashes.ts'
import { type KnownVersions, maxVersions } from '../known-versions.ts'
import { minSimilarLetters } from './telling-lines.ts'

/** Max records that are read from each table. */
const maxRecords = 200_000
/** Share of lines that a file which was moved and changed has in common with the original. */
export const minSimilarShare = 2 / 3

/** So many of the newest records of each table are read for those from other places. */
const maxFarRecords = 20_000
/** A line that more files have does not tell where a text is from. */
const maxHolders = 40
/** Max lines that all versions of a small file brought. */
const maxSmall = 64

/** A recorded file that has lines of a text in some version. */
interface FileWithLines {
  name: FileName
  /** Number of the text's lines that the file ever had, with their letters, and of the new ones among them that few files have. */
  shared: number
  letters: number
  sharedNew: number
  /** The state after some record was not the one before the next: the file was changed in between, or moved away. */
  hasGap: boolean
  /** A content of it was not read, so that its lines are not known. */
  isUnread: boolean
  /** It never had many lines. */
  isSmall: boolean
}

/** Recorded lines of a file. */
interface RecordedLines {
  name: FileName
  /** Packed. */
  hashes: string[]
  isComplete: boolean
  hasGap: boolean
  isUnread: boolean
  /** Hash before the record that was read last: the one that was made first. */
  before: string | null
}

/**
 * Finds recorded files by their lines, in the folders of sessions around a file. Records are read once per answer; those of the first
 * file asked about only if another one is: it may have thousands.
 */
export class LineIndex {
  readonly #rows: Reading
  readonly #versions: KnownVersions
  readonly #byRoot = new Map<string, RecordedFiles>()
  /** By directory. */
  readonly #roots = new Map<string, string | undefined>()

  constructor(rows: Reading, versions: KnownVersions) {
    this.#rows = rows
    this.#versions = versions
  }

  /**
   * Files other than the one at this path that a text may come from by its lines; `isCut` if there are too many records to read.
   * `newLines`: those that the file did not have before.
   */
  async filesWith(
    path: string,
    lines: ReadonlySet<string>,
    newLines: ReadonlySet<string>,
  ): Promise<{ files: FileWithLines[]; isCut: boolean }> {
    const { files, isCut } = await this.#recordedAround(path)
    const texts = new Map([...lines].map((line) => [hashLine(line), line]))
    const wanted = new Set(texts.keys())
    const all = [...files].flatMap(([whole, file]) => {
      if (whole === path) return []
      const shared = file.isComplete
        ? [...new Set(file.hashes.flatMap((packed) => hashesInRow(packed, wanted)))]
        : [...wanted]
      const isUnread = file.isUnread || (lines.size === 0 && file.hashes.length === 0)
      return shared.length === 0 && !isUnread ? [] : { file: { ...file, isUnread }, shared }
    })
    const holders = new Map<number, number>()
    for (const { shared } of all) for (const hash of shared) holders.set(hash, (holders.get(hash) ?? 0) + 1)
    const isRare = (hash: number) => (holders.get(hash) ?? 0) <= maxHolders
    const found = all.map(
      ({ file: { name, hasGap, isUnread, isComplete, hashes }, shared }): FileWithLines & { isRare: boolean } => ({
        ...{ name, hasGap, isUnread, shared: shared.length, isRare: shared.some(isRare) },
        isSmall: isComplete && hashCount(hashes) <= maxSmall,
        letters: shared.reduce((sum, hash) => sum + (texts.get(hash)?.length ?? 0), 0),
        sharedNew: shared.filter((hash) => isRare(hash) && newLines.has(texts.get(hash) ?? '')).length,
      }),
    )
    const isLike = ({ shared, letters }: FileWithLines) =>
      shared >= minSimilarShare * lines.size && letters >= minSimilarLetters
    const common = found.filter((each) => !each.isRare && isLike(each))
    const telling = found.filter((each) => each.isRare || each.isUnread)
    return { files: [...telling, ...common.slice(0, maxHolders)], isCut: isCut || common.length > maxHolders }
  }

  /** The topmost folder of a session above this path. */
  async #rootOf(path: string): Promise<string | undefined> {
    const directory = dirname(path)
    if (!this.#roots.has(directory)) this.#roots.set(directory, await this.#findRoot(path))
    return this.#roots.get(directory)
  }

  async #findRoot(path: string): Promise<string | undefined> {
    for (const { folder } of namesInFolders(path).reverse())
      if (folder !== '/' && (await hasRecords(this.#rows, folder))) return folder
    return undefined
  }

  async #recordedAround(path: string): Promise<RecordedFiles> {
    const root = (await this.#rootOf(path)) ?? dirname(path)
    const known = this.#byRoot.get(root) ?? (await this.#readWithout(path, root))
    this.#byRoot.set(root, known)
    const { files, except } = known
    if (except !== undefined && except !== path) {
      for (const record of recordsOf(await this.#versions.of(except))) addRecord(files, record)
      delete known.except
    }
    return known
  }

  async #readWithout(path: string, root: string): Promise<RecordedFiles> {
    const near = await lineRecordsBelow(this.#rows, root, { except: path, limit: maxRecords })
    const far = await lineRecordsElsewhere(this.#rows, root, { except: path, limit: maxFarRecords })
    const files = new Map<string, RecordedLines>()
    for (const record of [...near, ...far]) addRecord(files, record)
    return { files, isCut: near.length >= maxRecords, except: path }
  }
}

interface RecordedFiles {
  /** By absolute path. */
  files: Map<string, RecordedLines>
  isCut: boolean
  /** The file whose records were not read. */
  except?: string
}

/** Records of one file's versions, in the order in which records of all files are read. */
function recordsOf(versions: readonly FileVersion[]): LineRecord[] {
  const newestFirst = versions.toReversed()
  const isOfCommand = ({ command, found }: FileVersion) => command !== undefined || found !== undefined
  const records = [...newestFirst.filter((each) => !isOfCommand(each)), ...newestFirst.filter(isOfCommand)]
  // Versions before these were not read, and may have had any line.
  return versions.length < maxVersions ? records : records.map((each) => ({ ...each, lineHashes: null }))
}

/** Records of tools come first, those of commands after them, each the newest first: a file that has both counts as one with a gap. */
function addRecord(files: Map<string, RecordedLines>, record: LineRecord): void {
  const { folder, path, before, after, lineHashes } = record
  const whole = join(folder, path)
  const known = files.get(whole)
  const facts = { hashes: [], isComplete: true, hasGap: false, isUnread: false, before }
  const file: RecordedLines = known ?? { name: { folder, path }, ...facts }
  if (known && after !== known.before) file.hasGap = true
  file.before = before
  if (after === '') file.isUnread = true
  if (lineHashes === null) file.isComplete = false
  else if (lineHashes !== '') file.hashes.push(lineHashes)
  if (!known) files.set(whole, file)
}
