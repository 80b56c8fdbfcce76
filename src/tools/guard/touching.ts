import { groupDigits } from '../../domain/text/group-digits.ts'
import type { PathAddress } from '../../domain/tools/path-handle.ts'
import type {
  CommandVersion,
  CommandVersions,
  FolderBefore,
  HiddenChanges,
  OtherChanges,
  ReadContent,
  Touched,
  TouchedFiles,
} from '../../domain/tools/touched.ts'
import { transfersIn } from '../exec/copied-files.ts'
import type { FileThreads } from '../files/file-threads.ts'
import { isTemporary } from '../files/place.ts'
import { differences, maxSurveyed, otherKinds, readMarks } from '../files/survey.ts'
import { withOrigins } from './command-origins.ts'
import type { HiddenMarks } from './hidden-files.ts'
import type { KnownContents } from './known-contents.ts'

const scanFailures = {
  late: 'scanning the folder took too long',
  tooMany: `the folder has more than ${groupDigits(maxSurveyed)} entries`,
}
const maxHiddenNamed = 200

/** Folder to watch. `hiddenBy`: the command to blame for changes in hidden files; absent to skip these. */
interface WatchedFolder {
  folder: PathAddress
  /** What is run there. */
  command: string
  signal: AbortSignal
  hiddenBy?: HiddenChanges['by']
}

/**
 * Runs an action, and reports the folder's file changes by scanning before and after it, with the contents. The scan after it is not
 * abortable: an action that was stopped may have changed files as well.
 */
export async function reportTouched<T>(
  threads: FileThreads,
  known: KnownContents,
  place: WatchedFolder,
  act: () => Promise<T>,
): Promise<{ done: T; touched: Touched; versions?: CommandVersions }> {
  const { folder, signal, hiddenBy } = place
  const before = await orScanFailure(threads.perform({ survey: folder }, signal), signal)
  const hiddenBefore = 'unseen' in before || !hiddenBy ? undefined : await scanHidden(threads, place, before.hidden)
  const marks = 'unseen' in before ? new Map<string, string>() : readMarks(before.marks)
  const contents = await known.of(folder, marks, signal).catch(orAbort(signal, new Map<string, ReadContent>()))
  const done = await act()
  const unabortable = { ...place, signal: new AbortController().signal }
  if ('unseen' in before) return { done, touched: before }
  const after = await orScanFailure(
    threads.perform({ compare: { folder, before } }, unabortable.signal),
    unabortable.signal,
  )
  if ('unseen' in after) return { done, touched: after }
  const { directories } = after
  const changed = new Map(after.marks)
  const hidden = new Set(before.hidden)
  const versions = await versionsAfter(known, unabortable, { marks, contents, changed, hidden }).catch(() => undefined)
  const ended = { done, ...(versions && { versions: { folder: after.touched.folder, ...versions } }) }
  if (!hiddenBefore || !hiddenBy) return { ...ended, touched: { ...after.touched, ...otherChanges(directories) } }
  const paths = [...new Set([...before.hidden, ...after.hidden])]
  const hiddenAfter = await scanHidden(threads, unabortable, paths)
  if (!hiddenAfter) return { ...ended, touched: { ...after.touched, ...otherChanges(directories) } }
  const others = otherChanges([...directories, ...changedPaths(hiddenBefore.others, hiddenAfter.others)])
  return { ...ended, touched: { ...withHidden(after.touched, hiddenBy, hiddenBefore, hiddenAfter), ...others } }
}

/** Contents that cannot be read must not fail the call; only an abort does. */
function orAbort<T>(signal: AbortSignal, otherwise: T): () => T {
  return () => {
    signal.throwIfAborted()
    return otherwise
  }
}

/** Max files of a command that get a version. */
const maxStoredFiles = 1000

/** A folder before a command. `changed`: marks of the files that it changed, null of removed ones; `hidden`: what was ignored before. */
interface ChangedFolder extends FolderBefore {
  changed: ReadonlyMap<string, string | null>
  hidden: ReadonlySet<string>
}

/** Versions of the files that a command changed, with the file that each was moved or copied from. */
async function versionsAfter(
  known: KnownContents,
  { folder, command, signal }: WatchedFolder,
  { marks, contents, changed, hidden }: ChangedFolder,
): Promise<Omit<CommandVersions, 'folder'>> {
  const named = [...changed].slice(0, maxStoredFiles)
  const present = new Map(named.flatMap(([path, mark]) => (mark === null ? [] : [[path, mark] as const])))
  const now = await known.of(folder, present, signal)
  const unread: ReadContent = { sha256: '' }
  const versions = named
    .map(
      ([path, mark]): CommandVersion => ({
        path,
        before: marks.has(path) ? (contents.get(path) ?? unread) : isBelowAny(path, hidden) ? unread : null,
        after: mark === null ? null : (now.get(path) ?? unread),
      }),
    )
    // Skip the temporary file of a concurrent write, which has a version of its own.
    .filter(({ path, before, after }) => !isTemporary(path) || before?.sha256 || after?.sha256)
  const before = { marks, contents }
  return {
    versions: withOrigins(versions, before, transfersIn(command, folder.folder)),
    left: changed.size - named.length,
    before,
  }
}

/** Whether a path, or a directory above it, is one of these. */
function isBelowAny(path: string, paths: ReadonlySet<string>): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
    if (paths.has(path.slice(0, end))) return true
  return false
}

/** Undefined if the scan failed: then hidden files count as possibly changed. */
async function scanHidden(
  threads: FileThreads,
  { folder, signal }: WatchedFolder,
  paths: string[],
): Promise<HiddenMarks | undefined> {
  const seen = await orScanFailure(threads.perform({ hiddenMarks: { folder, paths } }, signal), signal)
  return 'unseen' in seen ? undefined : seen
}

function withHidden(
  { passedOver = [], ...touched }: TouchedFiles,
  by: HiddenChanges['by'],
  before: HiddenMarks,
  after: HiddenMarks,
): TouchedFiles {
  const changed = changedPaths(before.marks, after.marks)
  const paths = changed.slice(0, maxHiddenNamed)
  const unseen = [...new Set([...otherKinds(passedOver), ...before.passedOver, ...after.passedOver])].sort()
  return {
    ...touched,
    ...(unseen.length > 0 && { passedOver: unseen }),
    ...(changed.length > 0 && { hidden: { by, paths, more: changed.length - paths.length } }),
  }
}

function changedPaths(before: string, after: string): string[] {
  return before === after ? [] : [...differences(readMarks(before), readMarks(after)).keys()].sort()
}

function otherChanges(found: string[]): { others?: OtherChanges } {
  const paths = found.slice(0, maxHiddenNamed)
  return found.length === 0 ? {} : { others: { paths, more: found.length - paths.length } }
}

/** A failed scan must not fail the call; only an abort does. */
async function orScanFailure<S extends object>(
  scan: Promise<S | keyof typeof scanFailures>,
  signal: AbortSignal,
): Promise<S | { unseen: string }> {
  try {
    const seen = await scan
    return typeof seen === 'string' ? { unseen: scanFailures[seen] } : seen
  } catch (error) {
    signal.throwIfAborted()
    return { unseen: error instanceof Error ? error.message : String(error) }
  }
}
