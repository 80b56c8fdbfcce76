import type { Clock, Millis } from '../../../domain/clock.ts'
import { HeddleError } from '../../../domain/errors.ts'
import type { SandboxPermissions } from '../../../domain/persona.ts'
import type { ProtectedPlaces } from '../../../domain/tools/path-handle.ts'
import { bwrapArguments, type CommandLimits, descriptors, environmentIn, userFiles } from './bwrap-arguments.ts'
import { callFilter } from './call-filter.ts'
import type { ProcessIdentity } from './host.ts'
import { identityIn } from './identity.ts'
import { exitIfAbandoned, type Launch, type LaunchBounds, launch, type ProgramExit } from './launch.ts'
import type { Mount } from './mounts.ts'
import { neutralPlace } from './neutral-place.ts'
import type { Programs } from './programs.ts'
import { pathWithoutOwn } from './user-programs.ts'
import { viewOf } from './view.ts'
import { type SandboxProcess, watchFor } from './watch.ts'

const keptBytes = 48_000
const floodBytes = 256_000_000
// bubblewrap takes at most 9,000 arguments.
const maxMounts = 2500

/** An agent's command. */
interface Command {
  command: string
  folder: string
  protect: ProtectedPlaces
  /** Mounts in addition to those of protected paths. */
  mounts?: readonly Mount[]
  /** Paths that another running command could turn into a link. */
  unsure?: readonly string[]
  /** A real path in the folder. */
  cwd: string
  timeoutMs: Millis
  signal: AbortSignal
  /** Limits that narrow the configured ones. */
  sandbox?: SandboxPermissions
  /** Further variables of its environment. */
  credentials?: Readonly<Record<string, string>>
}

/** Environment of this process that commands depend on. */
export interface Machine {
  clock: Clock
  env: NodeJS.ProcessEnv
  self: ProcessIdentity
}

export interface SandboxLimits extends CommandLimits {
  network: boolean
}

/** Runs a command to its end. */
export type Runner = (command: Command) => Promise<ProgramExit>

/** Runs commands in bubblewrap: they see only the folder and the system's programs. */
export function inBubblewrap(
  programs: Programs & { bwrap: string },
  configured: SandboxLimits,
  { clock, env, self }: Machine,
): Runner {
  const filter = callFilter(process.arch)
  const toNeutral = neutralPlace()
  // In a session of its own, so that `kill 0` in a command does not reach our processes.
  const { setsid, bash } = programs
  return async ({
    command,
    folder,
    protect,
    mounts = [],
    unsure = [],
    cwd,
    timeoutMs,
    signal,
    sandbox,
    credentials,
  }) => {
    const { network, ...limits } = narrowed(configured, sandbox)
    const as = await identityIn(folder, self)
    const seen = await viewOf({ folder, protect, mounts, unsure, network }, as, env)
    const view = { ...seen, placed: await toNeutral(seen.placed, seen.folder) }
    if (view.mounts.length > maxMounts) throw tooManyMounts(folder)
    const bwrapOptions = bwrapArguments({ view, cwd, network, limits, isFiltered: filter !== undefined })
    const { passwd, group } = userFiles(as)
    const launchOrder: Launch = {
      // On a descriptor: /proc/1/cmdline would show all paths.
      argv: [
        programs.bwrap,
        '--args',
        String(descriptors.options),
        '--',
        ...withLimits(limits, [setsid, bash]),
        command,
      ],
      env: { ...credentials, ...environmentIn({ path: view.path }, env) },
      cwd: '/',
      ...(as.uid !== self.uid && { as }),
      inputs: [passwd, group, filter ?? '', bwrapOptions.join('\0')],
    }
    const bounds: LaunchBounds = { clock, signal, timeoutMs, keptBytes, floodBytes }
    let isWatched = false
    const exit = await launch(programs, launchOrder, bounds, (status, kill, over) => {
      const inside = insideOf(status)
      if (isWatched || !inside) return
      isWatched = true
      void watchFor(inside, limits, clock, over).then((excess) => {
        if (excess === 'processes') kill(`more than ${limits.processes} processes`)
        if (excess === 'memory') kill(`more than ${Math.floor(limits.memoryBytes / 2 ** 20)} MB of memory`)
      })
    })
    // Only the status tells that the command ended, and not bubblewrap itself.
    if (exit.killed === undefined && !exit.status.includes('"exit-code"')) throw noSandbox(exit.stderr)
    return exit
  }
}

/** The configured limits, each as far as the permissions leave it. */
function narrowed(configured: SandboxLimits, { network, memoryMB, processes }: SandboxPermissions = {}): SandboxLimits {
  const least = (limit: number, own: number | undefined) => Math.min(limit, own ?? limit)
  return {
    network: configured.network && network !== false,
    memoryBytes: least(configured.memoryBytes, memoryMB === undefined ? undefined : memoryMB * 2 ** 20),
    processes: least(configured.processes, processes),
  }
}

/** Runs commands unconfined, with all rights of this process: only if the config says so. */
export function withoutSandbox(
  programs: Programs,
  { memoryBytes }: CommandLimits,
  { clock, env, self }: Machine,
): Runner {
  return async ({ command, folder, cwd, timeoutMs, signal, credentials }) => {
    const as = await identityIn(folder, self)
    const { HOME = '/tmp' } = env
    const launchOrder: Launch = {
      // No process limit: it counts all processes of this user.
      argv: [...withLimits({ memoryBytes }, [programs.bash]), command],
      env: { ...credentials, ...environmentIn({ path: await pathWithoutOwn(env), home: HOME }, env) },
      cwd,
      ...(as.uid !== self.uid && { as }),
    }
    return launch(programs, launchOrder, { clock, signal, timeoutMs, keptBytes, floodBytes })
  }
}

/** The sandbox's first process and its PID namespace, once bubblewrap reports them. */
function insideOf(status: string): SandboxProcess | undefined {
  const [init, namespace] = ['child-pid', 'pid-namespace'].map(
    (key) => new RegExp(`"${key}": (\\d+)`).exec(status)?.[1],
  )
  return init === undefined || namespace === undefined ? undefined : { init: Number(init), namespace }
}

/**
 * A shell that sets ulimits and then executes the command's shell, with stderr joined to stdout. The kernel counts
 * reserved memory, which is more than a process uses, so the limit is generous.
 */
function withLimits(
  { memoryBytes, processes }: { memoryBytes: number; processes?: number },
  shell: string[],
): string[] {
  const [program = '', ...more] = shell
  const ulimits = [
    `-d ${Math.floor((2 * memoryBytes) / 1024)}`,
    ...(processes === undefined ? [] : [`-u ${processes}`]),
  ]
  const script = `${exitIfAbandoned}; ulimit -c 0 ${ulimits.join(' ')}; exec "$0" "$@" 2>&1`
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

function noSandbox(stderr: string): HeddleError {
  const message = `the sandbox did not start: ${stderr.trim() || 'it was killed'}`
  return new HeddleError('sandbox_failed', message, 'tell the user to run: heddle doctor', { retry: 'later' })
}
