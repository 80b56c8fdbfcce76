import { isWithin } from '../../domain/within.ts'
import type { Identity } from './host.ts'
import { mountArguments } from './mounts.ts'
import type { View } from './view.ts'

/** How much commands may take. */
export interface Limits {
  memoryBytes: number
  processes: number
}

/** Descriptors that bubblewrap is started with, besides the usual three. */
export const descriptors = { status: 3, passwd: 4, group: 5, filter: 6 } as const

// A file system in memory of its own: gone with the command.
const temporary = '/tmp'

export interface Confinement {
  view: View
  cwd: string
  network: boolean
  limits: Limits
  /** Whether there is a filter of system calls. */
  isFiltered: boolean
}

/** The walls, as bubblewrap is told of them; what it runs follows after them. */
export function bwrapArguments({ view, cwd, network, limits, isFiltered }: Confinement): string[] {
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
    ...view.readable.filter((path) => !isTemporary(path)).flatMap(readOnly),
    ...Object.entries(view.links).flatMap(([place, target]) => ['--symlink', target, place]),
    ...['--ro-bind-data', String(descriptors.passwd), '/etc/passwd'],
    ...['--ro-bind-data', String(descriptors.group), '/etc/group'],
    // Read-only as a whole: bubblewrap leaves /proc/sys writable to a root without capabilities, and there a line in
    // kernel/core_pattern is a program that the kernel runs outside.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', ...memory, '/dev/shm', '--remount-ro', '/dev'],
    ...[...memory, temporary, '--symlink', temporary, '/var/tmp'],
    ...view.readable.filter(isTemporary).flatMap(readOnly),
    ...['--bind', view.folder, view.folder],
    ...view.mounts.flatMap(mountArguments),
    ...['--remount-ro', '/', '--chdir', cwd],
    ...(isFiltered ? ['--seccomp', String(descriptors.filter)] : []),
    ...['--json-status-fd', String(descriptors.status)],
  ]
}

/** All that commands find in their environment, and all that bubblewrap itself is started with: /proc/1 shows that. */
export function environmentIn(
  { path, home = temporary }: { path: string; home?: string },
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  const language = env['LC_ALL'] || env['LANG'] || 'C.UTF-8'
  return { PATH: path, HOME: home, LANG: /^[\w.@-]+$/.test(language) ? language : 'C.UTF-8', TERM: 'dumb' }
}

/** The one user that there is inside. */
export function userFiles({ uid, gid }: Identity): { passwd: string; group: string } {
  const name = uid === 0 ? 'root' : 'heddle'
  return { passwd: `${name}:x:${uid}:${gid}::${temporary}:/bin/bash\n`, group: `${name}:x:${gid}:\n` }
}

function readOnly(path: string): string[] {
  return ['--ro-bind', path, path]
}

function isTemporary(path: string): boolean {
  return isWithin(path, temporary)
}
