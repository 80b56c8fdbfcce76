import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { compareVersions, type FileVersion } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import type { CompleteSurveys } from './complete-surveys.ts'
import type { FileContents } from './file-contents.ts'
import type { KnownVersions } from './known-versions.ts'

/** Author of a line, as far as the rows prove it. */
export type LineAuthor =
  | { by: 'version'; version: FileVersion }
  /** There before the first recorded version. */
  | { by: 'before' }
  /** Changed between two recorded versions, and by no command. */
  | { by: 'outside' }
  | { by: 'unknown'; since: Millis | null; why: string; runIds: string[] }

/** A file that a line was in before it came to where it is. */
export interface FilePassage {
  how: 'moved' | 'copied' | 'moved by hand' | 'copied by hand'
  /** Absolute path and line, counted from 1. */
  path: string
  line: number
  /** The command's version; absent if a hand, or an unknown command, has brought the line. */
  version?: FileVersion
}

export interface TracedLine {
  author: LineAuthor
  passages: FilePassage[]
}

/** A file whose lines are followed. */
export interface Place {
  path: string
  versions: FileVersion[]
  /** All of its versions, if these are not: commands that were recorded later may have run at the same time. */
  all?: FileVersion[]
  /** Number of files that were followed before. */
  passages: number
  end?: FileEnd
  /** When the file itself was last changed, if it is there: what came later can explain nothing of it. */
  changedAt?: Millis
  /** The file, if it is there, has several hard links: it may be changed by a name that is not looked at here. */
  hasOtherNames?: true
  /** The version whose origin this is: nothing that came later can explain it. */
  before?: FileVersion
}

/** A content that came to its place by hand. */
export interface Brought extends Place {
  /** When another content was last there. */
  since?: Millis
  /** Lines that it had as well, in their places: whoever only changed it has not written these. */
  kept?: ReadonlySet<number>
}

/** A file's content at a time. */
type FileEnd = { hash: string | null; at: Millis } | undefined

/** What follows lines through files. */
export interface Tracer {
  readonly rows: Reading
  readonly contents: FileContents
  readonly versions: KnownVersions
  readonly surveys: CompleteSurveys
  readonly protect: ProtectedPlaces
  /** Authors of lines, counted from 0, as a file had them before they came from there. */
  traceFrom(passage: Omit<FilePassage, 'line'>, place: Place, lines: readonly number[]): Promise<TracedLine[]>
}

/** Whether a version came before another one; what the same call left did not. */
export function isBefore(version: FileVersion, than: FileVersion | undefined): boolean {
  if (!than) return true
  const isSameCall = version.runId === than.runId && version.callId === than.callId
  return compareVersions(version, than) < 0 && !isSameCall
}

export function unknown(since: Millis | null, why: string, runIds: string[] = []): LineAuthor {
  return { by: 'unknown', since, why, runIds }
}

/** What several possible origins of a line agree on; what they do not agree on is unknown, for this reason. */
export function agreedLine(all: readonly TracedLine[], doubt: { since: Millis | null; why: string }): TracedLine {
  const [first, ...others] = all
  if (first && others.every(({ author }) => isSameAuthor(author, first.author))) return first
  const known = all.flatMap(({ author }) => (author.by === 'unknown' ? author : []))[0]
  const { since, why } = known ?? doubt
  const runIds = [...new Set(all.flatMap(({ author }) => runsIn(author)))]
  return { author: { by: 'unknown', since, why, runIds }, passages: [] }
}

/** Runs that may have written a line. */
function runsIn(author: LineAuthor): string[] {
  if (author.by === 'unknown') return author.runIds
  return author.by === 'version' && author.version.runId !== null ? [author.version.runId] : []
}

function isSameAuthor(a: LineAuthor, b: LineAuthor): boolean {
  if (a.by === 'version' && b.by === 'version') return a.version.runId === b.version.runId
  return isOfNoRun(a) && isOfNoRun(b)
}

function isOfNoRun({ by }: LineAuthor): boolean {
  return by === 'before' || by === 'outside'
}
