import type { Millis } from '../../../domain/clock.ts'
import type { CrashPoint } from '../../../domain/crash-points.ts'
import { HeddleError } from '../../../domain/errors.ts'
import type { PathAddress } from '../../../domain/tools/path-handle.ts'
import type { FileThreads } from '../../files/file-threads.ts'
import { type GuardedState, type GuardFindings, type GuardRequest, isMounted } from '../../guard/exec-guard.ts'
import type { WatchedPath } from '../../guard/git-places.ts'
import { checkAfterCommand, type GuardRecords } from './guard-records.ts'
import { type Mount, parentsBetween } from './mounts.ts'

// Each hard link needs its own mount; a folder with more is a hard-linked copy of Heddle.
const maxOtherNames = 500

interface GuardOptions {
  threads: FileThreads
  folder: PathAddress
  records: GuardRecords | undefined
  /** From the monotonic clock. */
  now: Millis
  signal: AbortSignal
  crash(point: CrashPoint): void
}

/** Result of a guarded command; `findings` is undefined if the folder could not be checked. */
export interface GuardedResult<T> {
  done: T
  findings: GuardFindings | undefined
}

/**
 * Runs a command with all files mounted read-only from which git or Heddle would later run programs, and checks for new
 * ones afterwards. A record on disk lets the next process do the check if this one is killed.
 */
export async function runGuarded<T>(
  { threads, folder, records, now, signal, crash }: GuardOptions,
  run: (mounts: Mount[], unsure: string[]) => Promise<T>,
): Promise<GuardedResult<T>> {
  const request: GuardRequest = { folder, now }
  const found = await threads.perform({ guard: request }, signal)
  if (found === 'late') throw folderTooLarge(folder.folder)
  // Read after the walk: a command that ended meanwhile has been checked, and one that began has a record by now.
  const unfinished = (await records?.unfinished()) ?? []
  const before = await threads.perform({ vet: { folder, found, unfinished } }, signal)
  if (before === 'late') throw folderTooLarge(folder.folder)
  if (before.otherNames.length > maxOtherNames) throw tooManyNames(folder.folder)
  const record = await records?.write({ ...request, before })
  crash('guard.after_record')
  const checkAfterwards = async () => {
    crash('guard.after_command')
    const findings = await checkAfterCommand(threads, { ...request, before })
    crash('guard.after_look')
    if (findings?.unseen.length === 0) await record?.remove()
    return findings
  }
  const unsure = unfinished.flatMap(({ trusted }) => trusted.map(({ path }) => path))
  const done = await run(mountsOf(before), unsure).catch(async (error) => {
    await checkAfterwards()
    throw error
  })
  return { done, findings: await checkAfterwards() }
}

function mountsOf({ folder, directories, pointers, named, otherNames }: GuardedState): Mount[] {
  const readOnly = ({ path }: WatchedPath): Mount => ({ path, kind: 'read-only' })
  const parts = directories.flatMap((directory) => directory.parts)
  const others: Mount[] = [
    ...named.filter(({ state }) => isMounted(state)).map(readOnly),
    ...otherNames.map(({ path, isHidden }): Mount => ({ path, kind: isHidden ? 'unreadable-file' : 'read-only' })),
  ]
  const own: Mount[] = [
    ...directories.map(({ path }): Mount => ({ path, kind: 'fixed' })).filter(({ path }) => path !== folder),
    ...[...parts, ...pointers].filter(({ state }) => isMounted(state)).map(readOnly),
  ]
  // Parent directories must not be renamed: other commands mount by the same paths.
  return [...own, ...others, ...[...own, ...others].flatMap(({ path }) => parentsBetween(folder, path))]
}

function folderTooLarge(folder: string): HeddleError {
  const message = `looking through ${folder} takes too long to protect its repositories, so no command runs`
  return new HeddleError('too_large', message, 'tell the user to start in a smaller folder')
}

function tooManyNames(folder: string): HeddleError {
  const message = `${folder} holds hard links to files of heddle itself, so no command runs`
  return new HeddleError('forbidden', message, 'tell the user to start in another folder, or to copy those files')
}
