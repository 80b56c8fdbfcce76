import { constants } from 'node:os'
import { z } from 'zod'
import { type Confinement, type Coverage, lapses } from '../../domain/approval.ts'
import type { Clock } from '../../domain/clock.ts'
import type { CrashPoint } from '../../domain/crash-points.ts'
import { HeddleError } from '../../domain/errors.ts'
import { isUntrusted, type Label } from '../../domain/label.ts'
import { escapeInvisible, quotePath } from '../../domain/text/visible.ts'
import type { PathAddress, PathHandle } from '../../domain/tools/path-handle.ts'
import type { Call, Tool } from '../../domain/tools/tool.ts'
import { defineTool } from '../define-tool.ts'
import type { FileThreads } from '../files/file-threads.ts'
import { filesOutside } from '../guard/baseline.ts'
import { KnownContents } from '../guard/known-contents.ts'
import { reportTouched } from '../guard/touching.ts'
import { commandIn } from './copied-files.ts'
import { guardNotes } from './sandbox/guard-notes.ts'
import type { GuardRecords } from './sandbox/guard-records.ts'
import { runGuarded } from './sandbox/guarded-run.ts'
import type { ProgramExit } from './sandbox/launch.ts'
import type { Mount } from './sandbox/mounts.ts'
import type { Runner } from './sandbox/runner.ts'

const maxCommandBytes = 100_000

/** Timeouts of commands, and the sandbox facts that the model must know. */
interface ExecSettings {
  timeoutSeconds: number
  maxTimeoutSeconds: number
  network: boolean
  isConfined: boolean
  /** Credentials by name, which commands see as environment variables. */
  credentials?: Readonly<Record<string, string>>
  clock: Pick<Clock, 'monotonic'>
  /** Records of what a crash could leave behind. */
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
  const defaultSeconds = Math.min(timeoutSeconds, maxTimeoutSeconds)
  const known = new KnownContents(threads)
  return defineTool(inputOf(defaultSeconds, maxTimeoutSeconds), {
    name: 'exec',
    description: describe(settings),
    effect: 'unsafe',
    touchesFolder: true,
    ...(hasNetwork(settings) && { sink: () => ({ sink: 'network' as const }) }),
    paths: ['cwd'],
    deadlineMs: (maxTimeoutSeconds + 30) * 1000,
    preview: async ({ command, timeout_seconds = defaultSeconds }, call) => {
      const own = within(settings, call)
      const seconds = Math.min(timeout_seconds, own.maxTimeoutSeconds)
      const { path, names } = await directoryAt(call.handle('cwd'))
      const { network, isConfined } = own
      const credentials = Object.keys(own.credentials)
      const frozen = { path, network, isConfined, seconds, ...(credentials.length > 0 && { credentials }) }
      const freeze = { folder: folderOf(call), cwd: names, command }
      const snapshot = await threads.perform({ freeze }, call.signal)
      const seen = snapshot === 'late' ? ['any file: scanning the folder took too long'] : snapshot.uncovered
      const uncovered = [...new Set([...seen, ...(isConfined ? [] : [filesOutside])])]
      return {
        facts: [
          { name: 'runs', value: `${describeReach(own)}, for at most ${seconds} s` },
          ...(credentials.length > 0 ? [{ name: 'sees', value: credentials.join(', ') }] : []),
          { name: 'where', value: quotePath(path) },
          ...(uncovered.length > 0 ? [{ name: 'unseen', value: `changes in ${uncovered.join(', ')}` }] : []),
        ],
        change: escapeInvisible(command),
        frozen,
        ...(snapshot !== 'late' && { baseline: snapshot.packed }),
      }
    },
    changedSince: async (packed, { command }, call, own) => {
      const { names } = await directoryAt(call.handle('cwd'))
      const compareFrozen = { folder: folderOf(call), cwd: names, command, packed, own }
      const changed = await threads.perform({ compareFrozen }, call.signal)
      return changed === 'late' ? ['the folder, perhaps: scanning it took too long'] : changed
    },
    // Never by the first word: the rest of a shell command could be anything.
    covers: async ({ command }, call) => {
      const { path, names } = await directoryAt(call.handle('cwd'))
      const folder = names.length === 0 ? path : path.slice(0, -names.join('/').length - 1) || '/'
      return { tool: 'exec', folder, ...commandCoverage(command, path, within(settings, call)) }
    },
    async run({ command, timeout_seconds = defaultSeconds }, call) {
      const { handle, folder, protect, signal, sandbox, label } = call
      const own = within(settings, call)
      const { path: cwd, names } = await directoryAt(handle('cwd'))
      const timeoutMs = Math.min(timeout_seconds, own.maxTimeoutSeconds) * 1000
      const limits = { ...(sandbox && { sandbox }), credentials: own.credentials }
      const address = { folder, path: '.', protect }
      const run = (mounts: readonly Mount[], unsure: readonly string[]) =>
        runner({ command, folder, protect, mounts, unsure, cwd, timeoutMs, signal, ...limits })
      const { clock, records, isConfined, crash = () => undefined } = settings
      const coverage = commandCoverage(command, cwd, own)
      // Every file that an untrusted run has changed must be recognised later.
      const watchesHidden = lapses(coverage) || (label !== undefined && isUntrusted(label))
      const place = {
        folder: address,
        command: commandIn(names.join('/'), command),
        signal,
        ...(watchesHidden && { hiddenBy: coverage }),
      }
      const { done, touched, versions } = await reportTouched(threads, known, place, async () =>
        isConfined
          ? runGuarded({ threads, folder: address, records, now: clock.monotonic(), signal, crash }, run)
          : { done: await run([], []), findings: undefined },
      )
      const output = [
        withoutValues(renderExit(done.done), own.credentials),
        ...(isConfined ? guardNotes(done) : []),
      ].join('\n')
      return {
        status: 'ok',
        output,
        touched,
        ...(versions && { versions }),
        ...(hasNetwork(own) && { label: fromNetwork }),
      }
    },
  })
}

/** The settings as far as the run's permissions leave them. Limits that cannot be kept refuse the command. */
function within(
  settings: ExecSettings,
  { sandbox = {}, credentials: allowed }: Pick<Call, 'sandbox' | 'credentials'>,
): ExecSettings & { credentials: Readonly<Record<string, string>> } {
  if (!settings.isConfined && Object.keys(sandbox).length > 0)
    throw new HeddleError(
      'forbidden',
      'the permissions of this conversation limit commands, and the sandbox that would keep the limits is off',
      'tell the user to turn it on: heddle config set tools.exec.sandbox on',
    )
  const { credentials = {}, maxTimeoutSeconds } = settings
  const seen = Object.entries(credentials).filter(([name]) => allowed === undefined || allowed.includes(name))
  return {
    ...settings,
    network: settings.network && sandbox.network !== false,
    maxTimeoutSeconds: Math.min(maxTimeoutSeconds, sandbox.timeoutSeconds ?? maxTimeoutSeconds),
    credentials: Object.fromEntries(seen),
  }
}

const shortestHidden = 8

/** Takes the values of credentials out of what a command printed: the model needs their names only. */
function withoutValues(text: string, credentials: Readonly<Record<string, string>>): string {
  return Object.entries(credentials).reduce(
    (shown, [name, value]) => (value.length < shortestHidden ? shown : shown.replaceAll(value, `[${name}]`)),
    text,
  )
}

/** Label of a command with network access. */
const fromNetwork: Label = { integrity: 'untrusted', sources: ['exec:network'] }

/** Without a sandbox a command reaches the network, whatever the setting says. */
function hasNetwork({ network, isConfined }: ExecSettings): boolean {
  return network || !isConfined
}

function describeReach({ isConfined, network }: ExecSettings): string {
  if (!isConfined) return 'WITHOUT A SANDBOX: it can do whatever you can'
  return network ? 'in the sandbox, with the network' : 'in the sandbox, without the network'
}

function confinementOf({ isConfined, network }: ExecSettings): Confinement {
  if (!isConfined) return 'none'
  return network ? 'network' : 'sandbox'
}

function commandCoverage(
  command: string,
  cwd: string,
  settings: ExecSettings,
): Pick<Coverage, 'cwd' | 'pattern' | 'confinement'> {
  return { cwd, pattern: JSON.stringify({ command }), confinement: confinementOf(settings) }
}

function folderOf({ folder, protect }: Pick<Call, 'folder' | 'protect'>): PathAddress {
  return { folder, path: '.', protect }
}

function inputOf(defaultSeconds: number, maxTimeoutSeconds: number) {
  return z.strictObject({
    command: z
      .string()
      .refine((text) => text.trim() !== '', { error: 'must not be empty' })
      .refine((text) => !text.includes('\0'), { error: 'must not hold NUL' })
      .refine((text) => Buffer.byteLength(text) <= maxCommandBytes, {
        error: `must have at most ${maxCommandBytes} bytes: write a file and run that`,
      })
      .describe('as for bash -c'),
    cwd: z.string().optional().describe('directory to run in, relative to the folder; default: the folder'),
    timeout_seconds: z
      .int()
      .min(1)
      .max(maxTimeoutSeconds)
      .optional()
      .describe(`default ${defaultSeconds}; after that the command and all its processes are killed`),
  })
}

function describe({ network, isConfined }: ExecSettings): string {
  const reach = network ? '' : ', but not the network'
  const limits = isConfined
    ? ` It reaches the folder and the system's programs${reach}; files written outside the folder are discarded. `
    : ' '
  const git = isConfined ? 'git works, but its config and hooks are read-only. ' : ''
  return (
    'Runs a command with bash in the folder. Returns stdout and stderr combined, and then the exit status, such as ' +
    `[exit 0].${limits}${git}All processes it starts end with it, and it gets no input.`
  )
}

async function directoryAt(handle: PathHandle): Promise<{ path: string; names: string[] }> {
  const status = await handle.stat()
  if (status.kind === 'directory') return status
  if (status.kind === 'outside')
    throw new HeddleError('forbidden', `${handle.shown} leads out of the session's folder`, 'give a cwd inside of it')
  const what = status.kind === 'missing' ? `there is no ${handle.shown}` : `${handle.shown} is not a directory`
  throw new HeddleError('wrong_kind', what, 'give a directory as cwd; list_dir with path . shows what is there')
}

function renderExit({ output, code, killed }: ProgramExit): string {
  const text = output.text()
  const end = killed === undefined ? exit(code) : `killed: ${killed}`
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${end}]`
}

/** Shells and bubblewrap report a signal as 128 plus its number. */
function exit(code: number | null): string {
  const name = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0]
  return code === null ? 'signal' : name === undefined ? `exit ${code}` : `exit ${code}: signal ${name}`
}
