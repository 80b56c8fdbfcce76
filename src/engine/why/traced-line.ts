import type { Millis } from '../../domain/clock.ts'
import type { FileIdentity } from '../../domain/tools/path-handle.ts'
import { compareVersions, type FileVersion } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import type { LineIndex } from './by-hand/line-index.ts'
import type { CallFacts } from './call-facts.ts'
import type { DiskState } from './disk-state.ts'
import type { FileContents } from './file-contents.ts'
import type { KnownVersions } from './known-versions.ts'

/** Author of a line, as far as records prove it. */
export type LineAuthor =
  | { by: 'version'; version: FileVersion }
  /** There before the first recorded version. */
  | { by: 'before' }
  /** Changed between two recorded versions, and by no command. */
  | { by: 'outside' }
  | { by: 'unknown'; since: Millis | null; why: string; runIds: string[] }

/** A move or copy that brought a line from another file. */
export interface LineTransfer {
  how: 'moved' | 'copied' | 'moved by hand' | 'copied by hand'
  /** Absolute path of the other file, and the line there, counted from 1. */
  path: string
  line: number
  /** Version left by the command that did it; absent if the user, another program or an unknown command did. */
  version?: FileVersion
}

/** A line with its author, and the moves and copies on the way back to it, newest first. */
export interface TracedLine {
  author: LineAuthor
  transfers: LineTransfer[]
}

/** A file whose lines are followed back. */
export interface TracedFile {
  path: string
  versions: FileVersion[]
  /** All of its versions, if `versions` is only a part: commands recorded later may have run at the same time. */
  all?: FileVersion[]
  /** Number of moves and copies followed so far. */
  transferCount: number
  end?: FileState
  /** When the file on the disk was last changed, if it exists: nothing later can explain its content. */
  changedAt?: Millis
  /** When its content was last modified; before `changedAt` if it was moved since, or copied with its times. */
  modifiedAt?: Millis
  /** The file keeps it if it is renamed or changed. */
  identity?: FileIdentity
  /** The file has several hard links: changes by another name are not recorded. */
  hasOtherNames?: true
  /** The version whose origin this is: nothing later can explain it. */
  before?: FileVersion
}

/** A file whose content the user or another program may have moved or copied there. */
export interface MovedFile extends TracedFile {
  /** When the file last had another content. */
  since?: Millis
  /** Lines that this other content had in the same order: a mere edit of the file did not write them. */
  kept?: ReadonlySet<number>
  /** It is known to be the file that was here before: only its content was changed. */
  isInPlace?: boolean
  /** The version of another file that this one is known to be, renamed since. */
  renamed?: FileVersion | undefined
}

/** A file's content at a time. */
type FileState = { hash: string | null; at: Millis } | undefined

/** Follows lines through files. An interface, since `LineTracer` imports the files that call it. */
export interface Tracer {
  readonly rows: Reading
  readonly contents: FileContents
  readonly versions: KnownVersions
  readonly disk: DiskState
  readonly index: LineIndex
  readonly calls: CallFacts
  /** Follows lines, counted from 0, in the file that they were moved or copied from. */
  traceFrom(transfer: Omit<LineTransfer, 'line'>, file: TracedFile, lines: readonly number[]): Promise<TracedLine[]>
}

/** Whether a version came before another one: of one call only what it found came before what it left. */
export function isBefore(version: FileVersion, than: FileVersion | undefined): boolean {
  if (!than) return true
  const isSameCall = version.runId === than.runId && version.callId === than.callId
  if (isSameCall && (than.found || !version.found)) return false
  return compareVersions(version, than) < 0
}

export function unknownAuthor(since: Millis | null, why: string, runIds: string[] = []): LineAuthor {
  return { by: 'unknown', since, why, runIds }
}

/** Merges the possible origins of a line: the author is known if all agree on one; else it is unknown, for this reason. */
export function mergeTracedLines(all: readonly TracedLine[], doubt: { since: Millis | null; why: string }): TracedLine {
  const [first, ...others] = all
  if (first && others.every(({ author }) => isSameAuthor(author, first.author))) return first
  const known = all.flatMap(({ author }) => (author.by === 'unknown' ? author : []))[0]
  const { since, why } = known ?? doubt
  const runIds = [...new Set(all.flatMap(({ author }) => possibleRuns(author)))]
  return { author: { by: 'unknown', since, why, runIds }, transfers: [] }
}

/** Runs that may have written a line. */
function possibleRuns(author: LineAuthor): string[] {
  if (author.by === 'unknown') return author.runIds
  return author.by === 'version' && author.version.runId !== null ? [author.version.runId] : []
}

function isSameAuthor(a: LineAuthor, b: LineAuthor): boolean {
  if (a.by === 'version' && b.by === 'version') return a.version.runId === b.version.runId
  return hasNoRun(a) && hasNoRun(b)
}

function hasNoRun({ by }: LineAuthor): boolean {
  return by === 'before' || by === 'outside'
}
