import { join } from 'node:path'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { compareVersions, type FileVersion, namesInFolder } from '../../store/rows/files/file-versions.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { namesInFolders } from '../files/file-author.ts'
import { hasEntry, hashNow } from '../files/file-now.ts'
import { linesOfBoth } from '../files/line-map.ts'
import { linesIn } from '../files/match-lines.ts'
import {
  filesWith,
  hasLeft,
  isEarlier,
  linesAt,
  linesOfHolders,
  maxVersionsAlike,
  ownThatLeft,
  sameElsewhere,
} from './content-holders.ts'
import { isAny, isNew, possibleOrigins } from './possible-origins.ts'
import { agreedLine, type Brought, type LineAuthor, type TracedLine, type Tracer } from './traced-line.ts'

/** Shorter texts may be the same by chance. */
const minLines = 2
const minLetters = 40
/** Share of the lines of both files that must be the same in a file that was moved and changed. */
const minShare = 2 / 3
/** Lines that a file must share with one that was not moved there: fewer may be the head that many files begin with. */
const minCopied = 8
const maxNames = 400
/** Max files that are still there whose last version is read. */
const maxPresent = 40

/** Lines as other files had them; `isWhole` if one of these had exactly this content. */
interface HandOrigins {
  traced: TracedLine[]
  isWhole: boolean
  /** Of each line of the content whether it says nothing, as a "}". */
  isVague: boolean[]
}

/**
 * Authors of the lines of a file that was moved or copied by hand, found by its content: other files had the same, or
 * much of it. Undefined if there is no such file. `unmatched` is the author of lines that it had not.
 */
export async function handOrigins(
  tracer: Tracer,
  place: Brought,
  hash: string,
  lines: readonly number[],
  unmatched: LineAuthor,
): Promise<HandOrigins | undefined> {
  const bytes = await tracer.contents.get(hash)
  const text = bytes && decodeText(bytes)
  if (!bytes || text === undefined) return undefined
  const isVague = linesIn(text).map((line) => !saysSomething(line))
  const isShort = telling(text).size < minLines || text.length < minLetters
  const { same, isCurrent } = await filesWith(tracer, place, hash)
  if (same.length > 0 && !isShort) {
    const { all, isCut } = await linesOfHolders(tracer, place, same, lines)
    const mayBeCommand = unmatched.by === 'unknown' && !(await areGone(tracer, same))
    const isDoubted = mayBeCommand || (!isCurrent && (await mayBePutBack(tracer, place, same)))
    const written: TracedLine = { author: unmatched, passages: [] }
    const traced = lines.map((line, at) => {
      const doubts = isDoubted && !place.kept?.has(line) ? [written] : []
      const found = all.flatMap((each) => each[at] ?? [])
      return toldAs(agreed([...doubts, ...found], isCut), unmatched)
    })
    return { traced, isWhole: true, isVague }
  }
  const all: (Found | undefined)[][] = []
  const alike = [...(await maybeMoved(tracer, same, text)), ...(await filesLike(tracer, place, text))]
  for (const { version, shared, isWeak, isReplaced } of alike) {
    const isMoved = await areGone(tracer, [version])
    const isUnlikely = !isMoved && (shared < minCopied || unmatched.by === 'unknown')
    // A file that was there may as well have been changed.
    const isDoubted = isWeak || isReplaced || isUnlikely || place.since !== undefined
    const old = await tracer.contents.get(version.after ?? '', version)
    const both = old && linesOfBoth(old, bytes)
    const origins = both ? possibleOrigins(both.old, both.fresh) : []
    const before = [...new Set(lines.flatMap((line) => origins[line] ?? []))].filter((line) => line >= 0)
    const traced = await linesAt(tracer, place, version, before)
    const byLine = new Map(before.map((line, at) => [line, traced[at]]))
    all.push(
      lines.map((line) => {
        const from = origins[line] ?? []
        const found = from.flatMap((each) => (each === isAny ? anyLine : (byLine.get(each) ?? [])))
        return found.length === 0 ? undefined : { found, isSure: !isDoubted && !from.includes(isNew) }
      }),
    )
  }
  if (all.length === 0) return undefined
  const traced = lines.map((_, at) => {
    const each = all.flatMap((one) => one[at] ?? [])
    // Unless the line must be from one of these files, whoever brought this one may have written it.
    const fresh = each.some(({ isSure }) => isSure) ? [] : [{ author: unmatched, passages: [] }]
    const found = each.flatMap((one) => one.found)
    return toldAs(agreedLine([...fresh, ...found], { since: null, why: lineThere }), unmatched)
  })
  return { traced, isWhole: false, isVague }
}

/** What a line may be of another file. */
interface Found {
  found: TracedLine[]
  /** The line stands in its place among the others that are from there. */
  isSure: boolean
}

/** Whether a hand may have put a content back: this file had it once, or it was no longer in any of these. */
async function mayBePutBack(tracer: Tracer, place: Brought, same: readonly FileVersion[]): Promise<boolean> {
  const [any] = same
  const had = ({ before, after }: FileVersion) => before === any?.after || after === any?.after
  if (place.versions.some((each) => had(each) && isEarlier(each, place))) return true
  for (const version of same) {
    const versions = await tracer.versions.of(join(version.folder, version.path))
    const own = versions.find((each) => compareVersions(each, version) === 0)
    if (!own || !(await wasReplaced(own, versions, place, tracer.protect))) return false
  }
  return true
}

/**
 * Whether another content was recorded in a version's place before this one came about, and its file was changed or moved by hand
 * since, or this one had another content even then: it is not known whether this content was copied while that version was there, or
 * was put back later.
 */
async function wasReplaced(
  version: FileVersion,
  versions: readonly FileVersion[],
  place: Brought,
  protect: ProtectedPlaces,
): Promise<boolean> {
  const isOther = ({ after }: FileVersion) => after !== null && after !== version.after
  const later = versions.slice(versions.indexOf(version) + 1).filter((each) => isEarlier(each, place))
  const replaced = later.find(isOther)
  if (!replaced) return false
  return replaced.at < (place.since ?? 0) || (await lastOf(version, versions, protect)) === undefined
}

/** Where it is not known who changed the file, it is not known either whether a hand has brought the line there. */
function toldAs({ author, passages: [first, ...rest] }: TracedLine, unmatched: LineAuthor): TracedLine {
  if (!first || unmatched.by !== 'unknown') return { author, passages: first ? [first, ...rest] : [] }
  const how = first.how === 'moved by hand' ? 'moved' : 'copied'
  return { author, passages: [{ ...first, how }, ...rest] }
}

/** Whether the files of these versions are gone, and no command is known to have moved or removed them. */
async function areGone(tracer: Tracer, same: readonly FileVersion[]): Promise<boolean> {
  for (const { folder, path } of same) {
    if (await hasEntry({ folder, path, protect: tracer.protect })) return false
    const last = (await tracer.versions.of(join(folder, path))).at(-1)
    if (last?.after === null && !last.found) return false
  }
  return true
}

/** Where several files had the same content, only an author that all of them name is known. */
function agreed(all: readonly TracedLine[], isCut: boolean): TracedLine {
  const why = sameElsewhere
  const doubt: TracedLine = { author: { by: 'unknown', since: null, why, runIds: [] }, passages: [] }
  return agreedLine(isCut ? [...all, doubt] : all, { since: null, why })
}

/** A version with lines of a text; a weak one has too few of them to be where it is from. */
interface Alike {
  version: FileVersion
  /** Number of lines that say something and are in both. */
  shared: number
  isWeak: boolean
  /** It was no longer there when the text came about, as far as versions tell. */
  isReplaced: boolean
}

const lineThere = 'the file came there by hand, and another one had this line'
const anyLine: TracedLine = { author: { by: 'unknown', since: null, why: lineThere, runIds: [] }, passages: [] }

/**
 * Versions of files that had lines of this text: all that are gone, and the last changed. One that is there as it was recorded was not
 * moved: a hand that copied a few of its lines is who brought them.
 */
async function filesLike(tracer: Tracer, place: Brought, text: string): Promise<Alike[]> {
  const { rows, protect } = tracer
  const lines = telling(text)
  const own = new Set(ownThatLeft(place))
  const alike = own.size === 0 ? [] : await versionsLike(tracer, place, place.versions, lines)
  const found = alike.filter(({ version }) => own.has(version))
  let left = maxPresent
  for (const { folder } of namesInFolders(place.path))
    for (const name of await namesInFolder(rows, folder, maxNames)) {
      const whole = join(folder, name.path)
      if (whole === place.path || ((await hasEntry({ ...name, protect })) && left-- <= 0)) continue
      found.push(...(await versionsLike(tracer, place, await tracer.versions.of(whole), lines)))
    }
  return found
}

/**
 * Of one file the versions that a text may be from, also if it was removed or written anew since; else those that have some of the
 * lines, and that a hand may have moved away.
 */
async function versionsLike(
  { contents, protect, surveys }: Tracer,
  place: Brought,
  versions: readonly FileVersion[],
  lines: ReadonlySet<string>,
): Promise<Alike[]> {
  const earlier = versions.filter((each) => isEarlier(each, place))
  const mayBeElsewhere = async (version: FileVersion) =>
    version === earlier.at(-1)
      ? !(await isStillThere(version, versions, protect))
      : hasLeft(versions, versions.indexOf(version))
  const alike: Alike[] = []
  for (const version of earlier.slice(-maxVersionsAlike).reverse()) {
    const bytes = version.after ? await contents.get(version.after, version) : undefined
    const old = telling((bytes && decodeText(bytes)) ?? '')
    const shared = [...old].filter((line) => lines.has(line))
    const isShort = shared.length < minLines || shared.join('').length < minLetters
    const isWeak = isShort || shared.length < minShare * Math.max(old.size, lines.size)
    if (shared.length === 0 || (isWeak && !(await mayBeElsewhere(version)))) continue
    const presence = await surveys.presenceOf(version, place)
    if (presence === 'gone') continue
    const isReplaced = presence ? presence === 'replaced' : await wasReplaced(version, versions, place, protect)
    alike.push({ version, shared: shared.length, isWeak, isReplaced })
  }
  const strong = alike.filter(({ isWeak }) => !isWeak)
  return strong.length > 0 ? strong : alike
}

/**
 * Versions with the same short content, which may be so by chance. A file that is still there was not moved; whether it was copied is
 * in question if the content says something.
 */
async function maybeMoved(tracer: Tracer, same: readonly FileVersion[], text: string): Promise<Alike[]> {
  const found: Alike[] = []
  for (const version of same) {
    const versions = await tracer.versions.of(join(version.folder, version.path))
    const own = versions.find((each) => compareVersions(each, version) === 0)
    const isLikely = telling(text).size > 0 || !own || !(await isStillThere(own, versions, tracer.protect))
    if (isLikely) found.push({ version, shared: 0, isWeak: true, isReplaced: false })
  }
  return found
}

/** Whether a file was there all the time since a version, as far as versions and the disk tell. */
async function isStillThere(
  version: FileVersion,
  versions: readonly FileVersion[],
  protect: ProtectedPlaces,
): Promise<boolean> {
  return typeof (await lastOf(version, versions, protect)) === 'string'
}

/** The content of a file if all that happened to it since a version was recorded, null if it was removed; else undefined. */
async function lastOf(
  version: FileVersion,
  versions: readonly FileVersion[],
  protect: ProtectedPlaces,
): Promise<string | null | undefined> {
  let hash = version.after
  for (const { before, after } of versions.slice(versions.indexOf(version) + 1)) {
    if (before !== hash) return undefined
    hash = after
  }
  const now = await hashNow({ folder: version.folder, path: version.path, protect })
  return now === hash ? hash : undefined
}

/** Lines that say something. */
function telling(text: string): Set<string> {
  return new Set(linesIn(text).filter(saysSomething))
}

function saysSomething(line: string): boolean {
  return line.trim().length > 3
}
