import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { CrashPoint } from '../../domain/crash-points.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { PathAddress } from '../../domain/path-handle.ts'
import { type GuardedState, type GuardFindings, type GuardRequest, isMounted } from '../exec-guard.ts'
import type { FileThreads } from '../file-threads.ts'
import { parseGitConfig } from '../git-config.ts'
import type { WatchedPath } from '../git-places.ts'
import { type GuardRecords, lookAfter } from './guard-records.ts'
import { host } from './host.ts'
import { type Mount, parentsBetween } from './mounts.ts'

// Each is a mount of its own; a folder with more is a copy of Heddle made of hard links.
const maxOtherNames = 500

export interface Guarding {
  threads: FileThreads
  folder: PathAddress
  records: GuardRecords | undefined
  /** By a steady clock. */
  now: Millis
  env: NodeJS.ProcessEnv
  signal: AbortSignal
  crash(point: CrashPoint): void
}

/** What a guarded command came to, and what it left behind that was moved aside; undefined where nobody could look. */
export interface Guarded<T> {
  done: T
  findings: GuardFindings | undefined
}

/**
 * Runs a command with everything mounted read-only from which git or Heddle would later run programs, and looks
 * afterwards what appeared. A record on the disk lets the next process look where this one is killed meanwhile.
 */
export async function runGuarded<T>(
  { threads, folder, records, now, env, signal, crash }: Guarding,
  run: (mounts: Mount[], unsure: string[]) => Promise<T>,
): Promise<Guarded<T>> {
  const request: GuardRequest = { folder, now, globalHooksPath: await globalHooksPath(env) }
  const found = await threads.perform({ guard: request }, signal)
  if (found === 'late') throw tooLarge(folder.folder)
  // After the walk: a command that ended meanwhile has been looked after, and one that began has a record by now.
  const unfinished = (await records?.unfinished()) ?? []
  const before = await threads.perform({ vet: { folder, found, unfinished } }, signal)
  if (before === 'late') throw tooLarge(folder.folder)
  if (before.otherNames.length > maxOtherNames) throw tooManyNames(folder.folder)
  const record = await records?.write({ ...request, before })
  crash('guard.after_record')
  const look = async () => {
    crash('guard.after_command')
    const findings = await lookAfter(threads, { ...request, before })
    crash('guard.after_look')
    if (findings?.unseen.length === 0) await record?.remove()
    return findings
  }
  const unsure = unfinished.flatMap(({ trusted }) => trusted.map(({ path }) => path))
  const done = await run(mountsOf(before), unsure).catch(async (error) => {
    await look()
    throw error
  })
  return { done, findings: await look() }
}

function mountsOf({ folder, directories, pointers, named, otherNames }: GuardedState): Mount[] {
  const readOnly = ({ path }: WatchedPath): Mount => ({ path, kind: 'read-only' })
  const parts = directories.flatMap((directory) => directory.parts)
  const elsewhere: Mount[] = [
    ...named.filter(({ state }) => isMounted(state)).map(readOnly),
    ...otherNames.map(({ path, isHidden }): Mount => ({ path, kind: isHidden ? 'unreadable-file' : 'read-only' })),
  ]
  const own: Mount[] = [
    ...directories.map(({ path }): Mount => ({ path, kind: 'fixed' })).filter(({ path }) => path !== folder),
    ...[...parts, ...pointers].filter(({ state }) => isMounted(state)).map(readOnly),
  ]
  // No directory on the way can be renamed: another command's mounts are made by these very paths.
  return [...own, ...elsewhere, ...[...own, ...elsewhere].flatMap(({ path }) => parentsBetween(folder, path))]
}

async function globalHooksPath(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { HOME, XDG_CONFIG_HOME = join(HOME ?? '/', '.config') } = env
  const files = [...(HOME ? [join(HOME, '.gitconfig')] : []), join(XDG_CONFIG_HOME, 'git', 'config'), '/etc/gitconfig']
  const texts = await Promise.all(files.map((file) => host.text(file)))
  const settings = texts.flatMap((text) => parseGitConfig(text ?? '', ''))
  return settings.find(({ name }) => name === 'core.hookspath')?.value
}

function tooLarge(folder: string): HeddleError {
  const message = `looking through ${folder} takes too long to guard its repositories, so no command runs`
  return new HeddleError('too_large', message, 'tell the user to start in a smaller folder')
}

function tooManyNames(folder: string): HeddleError {
  const message = `${folder} holds hard links to files of heddle itself, so no command runs`
  return new HeddleError('forbidden', message, 'tell the user to start in another folder, or to copy those files')
}
