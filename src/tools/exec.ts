import { constants } from 'node:os'
import { z } from 'zod'
import { type Confinement, type Coverage, lapses } from '../domain/approval.ts'
import type { Clock } from '../domain/clock.ts'
import type { CrashPoint } from '../domain/crash-points.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Label } from '../domain/label.ts'
import type { PathAddress, PathHandle } from '../domain/path-handle.ts'
import type { Call, Tool } from '../domain/tool.ts'
import { shownPath, visible } from '../domain/visible.ts'
import { filesOutside } from './baseline.ts'
import type { FileThreads } from './file-threads.ts'
import { guardNotes } from './sandbox/guard-notes.ts'
import type { GuardRecords } from './sandbox/guard-records.ts'
import { runGuarded } from './sandbox/guarded-run.ts'
import type { Ended } from './sandbox/launch.ts'
import type { Mount } from './sandbox/mounts.ts'
import type { Runner } from './sandbox/runner.ts'
import { parsedBy } from './tool-input.ts'
import { touching } from './touching.ts'

const longestCommand = 100_000

/** How long commands may take, and what the model must know of where they run. */
export interface ExecSettings {
  timeoutSeconds: number
  maxTimeoutSeconds: number
  network: boolean
  isConfined: boolean
  clock: Pick<Clock, 'monotonic'>
  env: NodeJS.ProcessEnv
  /** Where it is written down what a crash could leave behind. */
  records?: GuardRecords | undefined
  crash?: ((point: CrashPoint) => void) | undefined
}

/** Runs a shell command in the session's folder. */
export function exec(
  runner: Runner,
  threads: FileThreads,
  settings: ExecSettings,
): Tool<z.output<ReturnType<typeof inputOf>>> {
  const { timeoutSeconds, maxTimeoutSeconds } = settings
  const usual = Math.min(timeoutSeconds, maxTimeoutSeconds)
  return {
    name: 'exec',
    description: describe(settings),
    inputSchema: {
      type: 'object',
      properties: {
        command: { type: 'string', description: 'as for bash -c' },
        cwd: { type: 'string', description: 'directory to run in, from the folder on; the folder if left out' },
        timeout_seconds: {
          type: 'integer',
          minimum: 1,
          maximum: maxTimeoutSeconds,
          description: `${usual} if left out; then everything that the command started is killed`,
        },
      },
      required: ['command'],
      additionalProperties: false,
    },
    effect: 'unsafe',
    ...(settings.network && { sink: 'network' as const }),
    paths: ['cwd'],
    deadlineMs: (maxTimeoutSeconds + 30) * 1000,
    parse: parsedBy(inputOf(maxTimeoutSeconds)),
    preview: async ({ command, timeout_seconds: seconds = usual }, call) => {
      const { path, names } = await directoryAt(call.handle('cwd'))
      const { network, isConfined } = settings
      const frozen = { path, network, isConfined, seconds }
      const freeze = { folder: folderOf(call), cwd: names, command }
      const taken = await threads.perform({ freeze }, call.signal)
      const seen = taken === 'late' ? ['any file: looking through the folder took too long'] : taken.uncovered
      const uncovered = [...new Set([...seen, ...(isConfined ? [] : [filesOutside])])]
      return {
        facts: [
          { name: 'runs', value: `${reachOf(settings)}, for at most ${seconds} s` },
          { name: 'where', value: shownPath(path) },
          ...(uncovered.length > 0 ? [{ name: 'unseen', value: `changes in ${uncovered.join(', ')}` }] : []),
        ],
        change: visible(command),
        frozen,
        ...(taken !== 'late' && { baseline: taken.packed }),
      }
    },
    changedSince: async (packed, { command }, call, own) => {
      const { names } = await directoryAt(call.handle('cwd'))
      const compareFrozen = { folder: folderOf(call), cwd: names, command, packed, own }
      const changed = await threads.perform({ compareFrozen }, call.signal)
      return changed === 'late' ? ['the folder, perhaps: looking through it took too long'] : changed
    },
    // Never by its first word: a shell behind it could be anything.
    covers: async ({ command }, call) => {
      const { path, names } = await directoryAt(call.handle('cwd'))
      const folder = names.length === 0 ? path : path.slice(0, -names.join('/').length - 1) || '/'
      return { tool: 'exec', folder, ...commandCoverage(command, path, settings) }
    },
    async run({ command, timeout_seconds: seconds = usual }, { handle, folder, protect, signal }) {
      const { path: cwd } = await directoryAt(handle('cwd'))
      const address = { folder, path: '.', protect }
      const run = (mounts: readonly Mount[], unsure: readonly string[]) =>
        runner({ command, folder, protect, mounts, unsure, cwd, timeoutMs: seconds * 1000, signal })
      const { clock, env, records, isConfined, crash = () => undefined } = settings
      const coverage = commandCoverage(command, cwd, settings)
      const place = { folder: address, signal, ...(lapses(coverage) && { hiddenBy: coverage }) }
      const { done, touched } = await touching(threads, place, async () =>
        isConfined
          ? runGuarded({ threads, folder: address, records, now: clock.monotonic(), env, signal, crash }, run)
          : { done: await run([], []), findings: undefined },
      )
      const output = [tell(done.done), ...(isConfined ? guardNotes(done) : [])].join('\n')
      return { status: 'ok', output, touched, ...(settings.network && { label: fromNetwork }) }
    },
  }
}

/** What a command brings along that could ask anybody. */
const fromNetwork: Label = { integrity: 'untrusted', sources: ['exec:network'] }

function reachOf({ isConfined, network }: ExecSettings): string {
  if (!isConfined) return 'WITHOUT A SANDBOX: it can do whatever you can'
  return network ? 'in the sandbox, with the network' : 'in the sandbox, without the network'
}

function wallsOf({ isConfined, network }: ExecSettings): Confinement {
  if (!isConfined) return 'none'
  return network ? 'network' : 'sandbox'
}

function commandCoverage(
  command: string,
  cwd: string,
  settings: ExecSettings,
): Pick<Coverage, 'cwd' | 'pattern' | 'confinement'> {
  return { cwd, pattern: JSON.stringify({ command }), confinement: wallsOf(settings) }
}

function folderOf({ folder, protect }: Pick<Call, 'folder' | 'protect'>): PathAddress {
  return { folder, path: '.', protect }
}

function inputOf(maxTimeoutSeconds: number) {
  return z.strictObject({
    command: z
      .string()
      .refine((text) => text.trim() !== '', { error: 'must not be empty' })
      .refine((text) => !text.includes('\0'), { error: 'must not hold NUL' })
      .refine((text) => Buffer.byteLength(text) <= longestCommand, {
        error: `must have at most ${longestCommand} bytes: write a file and run that`,
      }),
    cwd: z.string().optional(),
    timeout_seconds: z.int().min(1).max(maxTimeoutSeconds).optional(),
  })
}

function describe({ network, isConfined }: ExecSettings): string {
  const reach = network ? '' : ', and not the network'
  const walls = isConfined
    ? ` It reaches the folder and the programs of the system${reach}; what it writes outside of the folder does not last. `
    : ' '
  const git = isConfined ? 'git works, but its config and hooks are read-only. ' : ''
  return (
    'Runs a command with bash in the folder. Answers what it wrote, both outputs in one, and then its end, such as ' +
    `[exit 0].${walls}${git}Nothing that it starts lives on after it, and it gets no input.`
  )
}

async function directoryAt(handle: PathHandle): Promise<{ path: string; names: string[] }> {
  const sight = await handle.look()
  if (sight.kind === 'directory') return sight
  if (sight.kind === 'outside')
    throw new HeddleError('forbidden', `${handle.shown} leads out of the session's folder`, 'give a cwd inside of it')
  const what = sight.kind === 'missing' ? `there is no ${handle.shown}` : `${handle.shown} is not a directory`
  throw new HeddleError('wrong_kind', what, 'give a directory as cwd; list_dir with path . shows what is there')
}

function tell({ output, code, killed }: Ended): string {
  const text = output.text()
  const end = killed === undefined ? exit(code) : `killed: ${killed}`
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${end}]`
}

/** A shell, and bubblewrap too, tell a signal as 128 and its number. */
function exit(code: number | null): string {
  const name = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0]
  return code === null ? 'signal' : name === undefined ? `exit ${code}` : `exit ${code}: signal ${name}`
}
