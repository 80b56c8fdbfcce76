import { join, relative, sep } from 'node:path'
import { isWithin } from '../../../domain/tools/within.ts'
import type { ProcessIdentity } from './host.ts'
import { mountArguments } from './mounts.ts'
import type { View } from './view.ts'

/** Resource limits of a command. */
export interface CommandLimits {
  memoryBytes: number
  processes: number
}

/** File descriptors passed to bubblewrap besides the standard three. */
export const descriptors = { status: 3, passwd: 4, group: 5, filter: 6, options: 7 } as const

// A tmpfs that is gone with the command.
const temporary = '/tmp'
// A link to it, unless something is bound there: bubblewrap cannot bind behind a link.
const alsoTemporary = '/var/tmp'

interface SandboxSettings {
  view: View
  cwd: string
  network: boolean
  limits: CommandLimits
  /** Whether a seccomp filter is passed. */
  isFiltered: boolean
}

/** Arguments of bubblewrap, before the command. */
export function bwrapArguments({ view, cwd, network, limits, isFiltered }: SandboxSettings): string[] {
  const readable = [...view.readable.map((path) => [path, path] as const), ...Object.entries(view.placed)]
  const links = Object.entries(view.links)
  const bound = [view.folder, ...readable.map(([place]) => place)]
  const ways = [temporary, alsoTemporary].flatMap((place) => waysIn(place, bound))
  const memory = ['--size', String(Math.floor(limits.memoryBytes / 2)), '--tmpfs']
  return [
    ...[
      '--unshare-user',
      '--disable-userns',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
    ],
    ...(network ? [] : ['--unshare-net']),
    ...['--cap-drop', 'ALL', '--die-with-parent', '--hostname', 'heddle'],
    ...readable.filter(([place]) => !isTemporaryFolder(place)).flatMap(readOnly),
    ...links.filter(([place]) => !isTemporaryFolder(place)).flatMap(linked),
    ...['--ro-bind-data', String(descriptors.passwd), '/etc/passwd'],
    ...['--ro-bind-data', String(descriptors.group), '/etc/group'],
    // Read-only as a whole: bubblewrap leaves /proc/sys writable to a root without capabilities, and there a line in
    // kernel/core_pattern is a program that the kernel runs outside.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', ...memory, '/dev/shm', '--remount-ro', '/dev'],
    ...[...memory, temporary],
    ...(bound.some((place) => isWithin(place, alsoTemporary))
      ? [...memory, alsoTemporary]
      : ['--symlink', temporary, alsoTemporary]),
    ...ways.flatMap((way) => ['--tmpfs', way]),
    ...readable.filter(([place]) => isTemporaryFolder(place)).flatMap(readOnly),
    ...links.filter(([place]) => isTemporaryFolder(place)).flatMap(linked),
    ...['--bind', view.folder, view.folder],
    ...view.mounts.flatMap(mountArguments),
    ...ways.flatMap((way) => ['--remount-ro', way]),
    ...['--remount-ro', '/', '--chdir', cwd],
    ...(isFiltered ? ['--seccomp', String(descriptors.filter)] : []),
    ...['--json-status-fd', String(descriptors.status)],
  ]
}

/** Environment of commands, and of bubblewrap itself, whose environment /proc/1 shows. */
export function environmentIn(
  { path, home = temporary }: { path: string; home?: string },
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  const language = env['LC_ALL'] || env['LANG'] || 'C.UTF-8'
  return { PATH: path, HOME: home, LANG: /^[\w.@-]+$/.test(language) ? language : 'C.UTF-8', TERM: 'dumb' }
}

/** The only user inside the sandbox. */
export function userFiles({ uid, gid }: ProcessIdentity): { passwd: string; group: string } {
  const name = uid === 0 ? 'root' : 'heddle'
  return { passwd: `${name}:x:${uid}:${gid}::${temporary}:/bin/bash\n`, group: `${name}:x:${gid}:\n` }
}

function readOnly([place, source]: readonly [string, string]): string[] {
  return ['--ro-bind', source, place]
}

function linked([place, target]: [string, string]): string[] {
  return ['--symlink', target, place]
}

/**
 * Directories in a temporary directory that lead to a bound path. Each is a tmpfs of its own, made read-only once all is
 * bound: it shows only that path, and nothing can be written beside it.
 */
function waysIn(place: string, bound: string[]): string[] {
  if (bound.includes(place)) return []
  const inside = bound.filter((each) => isWithin(each, place))
  const firsts = inside.map((each) => join(place, relative(place, each).split(sep)[0] ?? ''))
  return [...new Set(firsts)].filter((first) => !inside.includes(first))
}

function isTemporaryFolder(path: string): boolean {
  return isWithin(path, temporary) || isWithin(path, alsoTemporary)
}
