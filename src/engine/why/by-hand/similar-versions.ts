import { join } from 'node:path'
import { compareVersions, type FileVersion } from '../../../store/rows/files/file-versions.ts'
import { decodeText } from '../../../tools/files/text-kind.ts'
import { hashesInRow, hashLine } from '../../files/line-hashes.ts'
import { linesIn, standTogether } from '../../files/match-lines.ts'
import type { MovedFile, Tracer } from '../traced-line.ts'
import { isEarlier, maxSimilarVersions, replacedOwnVersions, wasReplacedUnrecorded } from './content-holders.ts'
import { isStillThere } from './file-since.ts'
import { minSimilarShare } from './line-index.ts'
import { minSimilarLetters, minSimilarLines, significantLines } from './telling-lines.ts'

/** Contents that were not read are usually larger: a text of this length may be a copy of one. */
const minUnreadLength = 2 ** 19
/** With so many lines in common, one of two texts may be a part of the other. */
const minContained = 6

/** A version that has lines of a text: it may be the origin of it. */
interface SimilarVersion {
  version: FileVersion
  /** Its content is not known, or too large to be compared. */
  isUnread?: boolean
  /** It has all significant lines that the text's file kept. */
  hasKept?: boolean
  /** Its file is gone, and may be the one that is here now. */
  mayBeHere?: boolean
}

const uncompared = { isUnread: true }

/**
 * Versions with lines of this text, of the file itself and of all others; `isCut` if not all were looked at. A file that still is as
 * recorded was not moved; a few lines copied from it count as written by the user or program that copied them.
 */
export async function similarVersions(
  tracer: Tracer,
  file: MovedFile,
  text: string,
): Promise<{ similar: SimilarVersion[]; isCut: boolean }> {
  const lines = significantLines(text)
  const wanted = { text, lines, isLarge: text.length >= minUnreadLength }
  const newLines = new Set(linesIn(text).filter((_, at) => !file.kept?.has(at)))
  const kept = new Set([...lines].filter((line) => !newLines.has(line)))
  const own = new Set(replacedOwnVersions(file))
  const ofOwn =
    own.size === 0 ? [] : await similarVersionsOf(tracer, file, file.versions, { ...wanted, kept, isGone: false })
  const similar = ofOwn.filter(({ version }) => own.has(version))
  const { files, isCut } = await tracer.index.filesWith(file.path, lines, newLines)
  for (const { name, shared, letters, sharedNew, hasGap, isUnread, isSmall } of files) {
    const isGone = !(await tracer.disk.has(name))
    const mayHaveMoved = hasGap || isGone
    const isLike = shared >= minSimilarShare * lines.size && letters >= minSimilarLetters
    const mayBeWhole = isSmall && sharedNew > 0 && letters >= minSimilarLetters
    const mayBeStrong = isLike || shared >= minContained || mayBeWhole
    if (shared === 0 ? !(isUnread && (isGone || wanted.isLarge)) : !mayBeStrong && !mayHaveMoved && sharedNew === 0)
      continue
    const versions = await tracer.versions.of(join(name.folder, name.path))
    const last = versions.at(-1)
    // Neither has a line that tells where it is from.
    if (lines.size === 0 && last?.after) similar.push({ version: last, ...uncompared })
    if (!mayBeStrong && !mayHaveMoved && last && (await isStillThere(last, versions, tracer.disk))) continue
    similar.push(...(await similarVersionsOf(tracer, file, versions, { ...wanted, kept, isGone })))
  }
  return { similar, isCut }
}

/** A text that is compared with versions. */
interface ComparedText {
  text: string
  /** Its significant lines, and those that its file kept. */
  lines: ReadonlySet<string>
  kept: ReadonlySet<string>
  isLarge: boolean
}

/**
 * Versions of one file that a text may come from, even if the file was removed or rewritten since; else weak ones whose file the
 * user or another program may have moved.
 */
async function similarVersionsOf(
  { contents, disk }: Tracer,
  file: MovedFile,
  versions: readonly FileVersion[],
  { text, lines, kept, isLarge, isGone }: ComparedText & { isGone: boolean },
): Promise<SimilarVersion[]> {
  const earlier = versions.filter((each) => isEarlier(each, file))
  const mayHaveMovedAway = async (version: FileVersion) =>
    version === earlier.at(-1)
      ? !(await isStillThere(version, versions, disk))
      : wasReplacedUnrecorded(versions, versions.indexOf(version))
  const similar: (SimilarVersion & { isWeak: boolean })[] = []
  const { compared, others } = versionsToCompare(earlier, lines)
  for (const version of compared) {
    const bytes = version.after ? await contents.get(version.after, version) : undefined
    if (!bytes && version.after !== null) {
      const mayShare = version.after === '' || hashesInRow(version.lineHashes, hashesOf(lines)).length > 0
      if (mayShare && (isLarge || (await mayHaveMovedAway(version))))
        similar.push({ version, ...uncompared, isWeak: true })
      continue
    }
    const oldText = (bytes && decodeText(bytes)) ?? ''
    const oldLines = significantLines(oldText)
    const shared = [...oldLines].filter((line) => lines.has(line))
    const isShort = shared.length < minSimilarLines || shared.join('').length < minSimilarLetters
    const sizes = [oldLines.size, lines.size]
    const size = shared.length >= minContained ? Math.min(...sizes) : Math.max(...sizes)
    const isWeak = (isShort || shared.length < minSimilarShare * size) && !hasWhole(text, oldText)
    const mayHaveMoved = shared.length > 0 && (await mayHaveMovedAway(version))
    if (shared.length === 0 || (isWeak && !mayHaveMoved)) continue
    // A file that is gone without a record of that may have been moved onto this one.
    const mayBeHere = isGone && !file.isInPlace && version === versions.at(-1)
    const hasKept = [...kept].every((line) => oldLines.has(line))
    similar.push({ version, isWeak, hasKept, mayBeHere })
  }
  const strong = similar.filter(({ isWeak }) => !isWeak)
  if (strong.length > 0) return strong
  const unread = others.map((version) => ({ version, ...uncompared }))
  return [...similar, ...unread]
}

/** Whether a text has all lines of another one together, as if that had been added to it. */
function hasWhole(text: string, part: string): boolean {
  const lines = linesIn(part)
  const first = lines.findIndex((line) => line.trim() !== '')
  const last = lines.findLastIndex((line) => line.trim() !== '')
  const whole = lines.slice(first, last + 1)
  return whole.join('\n').length >= minSimilarLetters && standTogether(whole, linesIn(text))
}

/**
 * Versions with the same short content, perhaps by chance. A file that still exists was not moved; it may have been copied if the
 * content has a significant line.
 */
export async function versionsWithShortContent(
  tracer: Tracer,
  holders: readonly FileVersion[],
  text: string,
): Promise<SimilarVersion[]> {
  const found: SimilarVersion[] = []
  for (const version of holders) {
    const versions = await tracer.versions.of(join(version.folder, version.path))
    const own = versions.find((each) => compareVersions(each, version) === 0)
    const isLikely = significantLines(text).size > 0 || !own || !(await isStillThere(own, versions, tracer.disk))
    if (isLikely) found.push({ version })
  }
  return found
}

/**
 * The newest versions, and of the earlier ones those that brought lines of this text: the last of them and those with the most. `others`:
 * those with the most, if there are more of them, and one that is not compared may be like the text.
 */
function versionsToCompare(
  versions: readonly FileVersion[],
  lines: ReadonlySet<string>,
): { compared: FileVersion[]; others: FileVersion[] } {
  const newest = versions.slice(-maxSimilarVersions).reverse()
  const earlier = versions.slice(0, -maxSimilarVersions).reverse()
  const wanted = earlier.length > 0 ? hashesOf(lines) : new Set<number>()
  const counted = earlier.map((version) => ({ version, shared: hashesInRow(version.lineHashes, wanted).length }))
  const sharing = counted.filter(({ shared }) => shared > 0)
  const last = sharing.slice(0, maxSimilarVersions / 2)
  const most = sharing.toSorted((a, b) => b.shared - a.shared).slice(0, maxSimilarVersions / 2)
  const compared = new Set([...newest, ...[...last, ...most].map(({ version }) => version)])
  const brought = sharing.reduce((sum, { shared }) => sum + shared, 0)
  const isCut = sharing.some(({ version }) => !compared.has(version)) && brought >= minSimilarShare * lines.size
  return { compared: [...compared], others: isCut ? most.map(({ version }) => version) : [] }
}

function hashesOf(lines: Iterable<string>): Set<number> {
  return new Set([...lines].map(hashLine))
}
