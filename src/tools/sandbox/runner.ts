import type { Clock, Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { ProtectedPlaces } from '../../domain/path-handle.ts'
import { bwrapArguments, descriptors, environmentIn, type Limits, userFiles } from './bwrap-arguments.ts'
import { callFilter } from './call-filter.ts'
import type { Identity } from './host.ts'
import { identityIn } from './identity.ts'
import { type Bounds, type Ended, type Launch, launch, stillWanted } from './launch.ts'
import type { Mount } from './mounts.ts'
import { neutralPlace } from './neutral-place.ts'
import type { Programs } from './programs.ts'
import { pathWithoutOwn } from './user-programs.ts'
import { viewOf } from './view.ts'
import { type Inside, watchFor } from './watch.ts'

const keptBytes = 48_000
const floodBytes = 256_000_000
// bubblewrap takes at most 9,000 arguments.
const maxMounts = 2500

/** A command of an agent. */
export interface Command {
  command: string
  folder: string
  protect: ProtectedPlaces
  /** Mounts besides those of what is protected. */
  mounts?: readonly Mount[]
  /** Paths that a command which is under way could turn into a link. */
  unsure?: readonly string[]
  /** A real path in the folder. */
  cwd: string
  timeoutMs: Millis
  signal: AbortSignal
}

/** What commands are run with. */
export interface Machine {
  clock: Clock
  env: NodeJS.ProcessEnv
  self: Identity
}

export interface Confines extends Limits {
  network: boolean
}

/** Runs a command to its end, whatever it does. */
export type Runner = (command: Command) => Promise<Ended>

/** Runs commands in bubblewrap: they see the folder and the programs of the system, and nothing else. */
export function inBubblewrap(
  programs: Programs & { bwrap: string },
  { network, ...limits }: Confines,
  { clock, env, self }: Machine,
): Runner {
  const filter = callFilter(process.arch)
  const toNeutral = neutralPlace()
  // In a session of its own, so that `kill 0` in a command hits nothing of ours.
  const { setsid, bash } = programs
  return async ({ command, folder, protect, mounts = [], unsure = [], cwd, timeoutMs, signal }) => {
    const as = await identityIn(folder, self)
    const seen = await viewOf({ folder, protect, mounts, unsure, network }, as, env)
    const view = { ...seen, placed: await toNeutral(seen.placed, seen.folder) }
    if (view.mounts.length > maxMounts) throw tooManyMounts(folder)
    const walls = bwrapArguments({ view, cwd, network, limits, isFiltered: filter !== undefined })
    const { passwd, group } = userFiles(as)
    const order: Launch = {
      // On a descriptor: /proc/1/cmdline would show where everything lies.
      argv: [programs.bwrap, '--args', String(descriptors.walls), '--', ...limited(limits, [setsid, bash]), command],
      env: environmentIn({ path: view.path }, env),
      cwd: '/',
      ...(as.uid !== self.uid && { as }),
      given: [passwd, group, filter ?? '', walls.join('\0')],
    }
    const bounds: Bounds = { clock, signal, timeoutMs, keptBytes, floodBytes }
    let isWatched = false
    const ended = await launch(programs, order, bounds, (status, kill, over) => {
      const inside = insideOf(status)
      if (isWatched || !inside) return
      isWatched = true
      void watchFor(inside, limits, clock, over).then((excess) => {
        if (excess === 'processes') kill(`more than ${limits.processes} processes`)
        if (excess === 'memory') kill(`more than ${Math.floor(limits.memoryBytes / 2 ** 20)} MB of memory`)
      })
    })
    // The status alone tells that the command, and not bubblewrap, has ended.
    if (ended.killed === undefined && !ended.status.includes('"exit-code"')) throw noSandbox(ended.complaint)
    return ended
  }
}

/** Runs commands as what they are, with all that this process may do: only where the owner has asked for it. */
export function withoutSandbox(programs: Programs, { memoryBytes }: Limits, { clock, env, self }: Machine): Runner {
  return async ({ command, folder, cwd, timeoutMs, signal }) => {
    const as = await identityIn(folder, self)
    const { HOME = '/tmp' } = env
    const order: Launch = {
      // Processes are counted by user, and this user has others.
      argv: [...limited({ memoryBytes }, [programs.bash]), command],
      env: environmentIn({ path: await pathWithoutOwn(env), home: HOME }, env),
      cwd,
      ...(as.uid !== self.uid && { as }),
    }
    return launch(programs, order, { clock, signal, timeoutMs, keptBytes, floodBytes })
  }
}

/** The first process inside, and the namespace that it is the first of, as bubblewrap tells them once it has them. */
function insideOf(status: string): Inside | undefined {
  const [init, namespace] = ['child-pid', 'pid-namespace'].map(
    (key) => new RegExp(`"${key}": (\\d+)`).exec(status)?.[1],
  )
  return init === undefined || namespace === undefined ? undefined : { init: Number(init), namespace }
}

/**
 * A shell that sets the kernel's limits and becomes the one of the command, with its two outputs as one. The kernel counts
 * memory that a process may write to, which is more than it holds: only what is far too much fails at once.
 */
function limited({ memoryBytes, processes }: { memoryBytes: number; processes?: number }, shell: string[]): string[] {
  const [program = '', ...more] = shell
  const most = [`-d ${Math.floor((2 * memoryBytes) / 1024)}`, ...(processes === undefined ? [] : [`-u ${processes}`])]
  const script = `${stillWanted}; ulimit -c 0 ${most.join(' ')}; exec "$0" "$@" 2>&1`
  return [shell.at(-1) ?? program, '--norc', '-c', script, program, ...more, '-c']
}

function tooManyMounts(folder: string): HeddleError {
  const message = `${folder} holds so many git repositories that they cannot all be protected, so no command runs`
  return new HeddleError(
    'too_large',
    message,
    'tell the user to start in a smaller folder, or to remove repositories that are not needed',
  )
}

function noSandbox(complaint: string): HeddleError {
  const message = `the sandbox did not start: ${complaint.trim() || 'it was killed'}`
  return new HeddleError('sandbox_failed', message, 'tell the user to run: heddle doctor', { retry: 'later' })
}
