import { join } from 'node:path'
import { compareVersions, type FileVersion, versionsWithContent } from '../../store/rows/files/file-versions.ts'
import { hasEntry } from '../files/file-now.ts'
import {
  agreedLine,
  type Brought,
  type FilePassage,
  isBefore,
  type LineAuthor,
  type Place,
  type TracedLine,
  type Tracer,
} from './traced-line.ts'

/** Max versions that come into question. */
export const maxVersionsAlike = 8
/** Max versions with the same content that are read. */
const maxSame = 40

/**
 * All versions of other files that left this content: one that has it again may be the work of another run. Of the file itself those
 * that a hand may have moved away, and back. `isCurrent`: they are those that were still there, as far as surveys tell.
 */
export async function filesWith(
  { rows, surveys }: Tracer,
  place: Brought,
  hash: string,
): Promise<{ same: FileVersion[]; isCurrent: boolean }> {
  const found = await versionsWithContent(rows, hash, maxSame)
  const others = found.filter((each) => join(each.folder, each.path) !== place.path && isEarlier(each, place))
  const all = [...others, ...ownThatLeft(place).filter(({ after }) => after === hash)]
  const presences: (string | undefined)[] = []
  for (const version of all) presences.push(await surveys.presenceOf(version, place))
  // What was in none of them was brought back from elsewhere.
  if (!presences.includes('there')) return { same: all, isCurrent: false }
  return { same: all.filter((_, at) => (presences[at] ?? 'there') === 'there'), isCurrent: true }
}

export function ownThatLeft(place: Brought): FileVersion[] {
  if (place.since === undefined) return []
  return place.versions.filter((each, at) => hasLeft(place.versions, at) && isEarlier(each, place))
}

/** Whether the version at this index was no longer there when the next one was made, and no record tells where it went. */
export function hasLeft(versions: readonly FileVersion[], at: number): boolean {
  const next = versions[at + 1]
  return next !== undefined && next.before !== versions[at]?.after
}

/** Clocks of file systems are coarser than ours. */
const slackMs = 10

/** Whether a version was there when the content came to its place. */
export function isEarlier(version: FileVersion, { before, changedAt = Number.POSITIVE_INFINITY }: Place): boolean {
  return isBefore(version, before) && (version.command?.since ?? version.at) <= changedAt + slackMs
}

/** Lines of a content as each of these versions left it, and as others of the same files found it. */
export async function linesOfHolders(
  tracer: Tracer,
  place: Place,
  same: readonly FileVersion[],
  lines: readonly number[],
  version?: FileVersion,
): Promise<{ all: TracedLine[][]; isCut: boolean }> {
  const left = withoutCopies(same)
  const found = await versionsThatFound(tracer, place, same)
  const all: TracedLine[][] = []
  for (const each of left.slice(0, maxVersionsAlike)) all.push(await linesAt(tracer, place, each, lines, { version }))
  for (const each of found.slice(0, maxVersionsAlike))
    all.push(await linesAt(tracer, place, each, lines, { version, side: 'before' }))
  return { all, isCut: same.length >= maxSame || Math.max(left.length, found.length) > maxVersionsAlike }
}

/**
 * Lines of a content that a command copied from one of several files. The command is who brought a line on whose author the versions
 * with this content do not agree.
 */
export async function copiedFromAny(
  tracer: Tracer,
  place: Place,
  { version, author }: { version: FileVersion; author: LineAuthor },
  lines: readonly number[],
): Promise<TracedLine[] | undefined> {
  const { same } = await filesWith(tracer, { ...place, before: version }, version.after ?? '')
  const { all, isCut } = await linesOfHolders(tracer, { ...place, before: version }, same, lines, version)
  if (all.length === 0 || isCut) return undefined
  return lines.map((_, at) => {
    const line = agreedLine(
      all.flatMap((each) => each[at] ?? []),
      { since: null, why: '' },
    )
    return line.author.by === 'unknown' ? { author, passages: [] } : line
  })
}

/** A copy of what several files had has what the others have. */
function withoutCopies(same: readonly FileVersion[]): readonly FileVersion[] {
  const others = same.filter(({ before, command }) => before !== null || command?.origin?.path !== '')
  return others.length > 0 ? others : same
}

/** Versions of the same files that found this content there, which nobody had recorded: it may have been copied then. */
async function versionsThatFound(tracer: Tracer, place: Place, same: readonly FileVersion[]): Promise<FileVersion[]> {
  const found: FileVersion[] = []
  for (const [whole, [any]] of Map.groupBy(same, ({ folder, path }) => join(folder, path))) {
    const versions = await tracer.versions.of(whole)
    for (const [at, version] of versions.entries()) {
      const isRecorded = version.found !== undefined || (at > 0 && versions[at - 1]?.after === version.before)
      if (version.before !== any?.after || isRecorded || !isEarlier(version, place)) continue
      if (!(await tracer.surveys.isOver(version, place))) found.push(version)
    }
  }
  return found
}

/** Authors of lines of what a version left in another file, or found there; `version` is that of a command which brought them. */
export async function linesAt(
  tracer: Tracer,
  { passages, before }: Place,
  from: FileVersion,
  lines: readonly number[],
  { version, side = 'after' }: { version?: FileVersion | undefined; side?: 'before' | 'after' } = {},
): Promise<TracedLine[]> {
  const { folder, path, at, command } = from
  const whole = join(folder, path)
  const all = await tracer.versions.of(whole)
  const last = all.at(-1)
  const isRemoved = last?.after === null && !last.found
  const isThere = isRemoved || (await hasEntry({ folder, path, protect: tracer.protect }))
  const how: FilePassage['how'] = version ? 'copied' : isThere ? 'copied by hand' : 'moved by hand'
  const versions = all.filter((each) => compareVersions(each, from) < (side === 'after' ? 1 : 0))
  const end = { hash: from[side], at: side === 'after' ? at : (command?.since ?? at) }
  const place: Place = { path: whole, versions, all, passages: passages + 1, end, ...(before && { before }) }
  return (await tracer.traceFrom({ how, path: whole, ...(version && { version }) }, place, lines)).map(doubted)
}

/** A command that left a content which several files had is not the only one whose work it may be. */
function doubted(line: TracedLine): TracedLine {
  const { author } = line
  if (author.by !== 'version' || author.version.command?.origin?.path !== '') return line
  return {
    author: { by: 'unknown', since: null, why: sameElsewhere, runIds: [author.version.runId ?? ''] },
    passages: [],
  }
}

export const sameElsewhere = 'it was copied by hand, and several versions had the same content'
