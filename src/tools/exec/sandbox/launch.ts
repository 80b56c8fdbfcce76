import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import type { Clock, Millis } from '../../../domain/clock.ts'
import { HeddleError } from '../../../domain/errors.ts'
import { BoundedOutput } from './bounded-output.ts'
import type { ProcessIdentity } from './host.ts'
import type { Programs } from './programs.ts'

const maxStderrLength = 4000
/** Max wait for killed processes: only those stuck in the kernel, or outside the group, take long. */
const killTimeout: Millis = 5000
/** Time in which leftover processes of the group may still write. cat must have left the group by then. */
const leftoverTimeout: Millis = 200
// All started processes are one process group, which lives as long as a descriptor that this process holds: a guard reads
// from it, and kills the group once it closes, on purpose or because this process died. Node's pipes are sockets, and
// /dev/stdout cannot be opened as a socket: cat turns it into a pipe. cat is outside the group, so that it delivers all
// output even if the group is killed. Descriptors inherited from our parent are closed for commands. The started program
// checks the lifeline once more and closes it (`exitIfAbandoned`): bubblewrap may lose its parent before it sets its
// parent-death signal.
const lifeline = 8
export const exitIfAbandoned = `read -t 0 -u ${lifeline} && exit 1; exec ${lifeline}<&-`
const launcher = `cat=$1 setsid=$2; shift 2
{ read -r -u ${lifeline}; kill -KILL 0; } < /dev/null > /dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- &
exec > >(exec "$setsid" "$cat" ${lifeline}>&-)
for fd in /dev/fd/*; do fd=\${fd##*/}; (( fd > ${lifeline} )) && eval "exec $fd>&-"; done
exec "$@"`

/** A process to start. */
export interface Launch {
  argv: string[]
  env: Record<string, string>
  cwd: string
  /** User to run as, if not this process's own. */
  as?: ProcessIdentity
  /** Contents of descriptors from 4 on. */
  inputs?: (string | Buffer)[]
}

export interface LaunchBounds {
  clock: Clock
  signal: AbortSignal
  timeoutMs: Millis
  /** Bytes of output to keep, and the output size at which the process is killed. */
  keptBytes: number
  floodBytes: number
}

/** Exit of a process; `killed` is the reason if we killed it. */
export interface ProgramExit {
  output: BoundedOutput
  /** null: killed by a signal that was not ours. */
  code: number | null
  killed?: string
  /** Output on descriptors 2 and 3. */
  stderr: string
  status: string
}

/**
 * Starts a process and waits for its end. It always ends: by itself, at the timeout, on abort, or when it writes without
 * end. On abort it is killed as at the timeout: what it has done until then must be found out.
 */
export async function launch(
  { bash, cat, setsid }: Programs,
  command: Launch,
  { clock, signal, timeoutMs, keptBytes, floodBytes }: LaunchBounds,
  onStatus: (status: string, kill: (why: string) => void, over: AbortSignal) => void = () => undefined,
): Promise<ProgramExit> {
  signal.throwIfAborted()
  const over = new AbortController()
  const output = new BoundedOutput(keptBytes)
  const inputs = command.inputs ?? []
  const child = spawn(bash, ['--norc', '--noprofile', '-c', launcher, 'bash', cat, setsid, ...command.argv], {
    cwd: command.cwd,
    env: command.env,
    detached: true,
    stdio: ['ignore', ...Array.from({ length: lifeline }, () => 'pipe' as const)],
    ...command.as,
  })
  const [, , , ...pipes] = streamsOf(child)
  const [stderr, status] = [collectText(child.stderr, maxStderrLength), collectText(pipes[0], maxStderrLength)]
  let killed: string | undefined
  const kill = (why: string) => {
    killed ??= why
    // Otherwise the group is gone, and its number may belong to other processes.
    if (child.exitCode === null && child.signalCode === null) stop(child)
    void clock.sleep(killTimeout, over.signal).then(() => over.signal.aborted || detach(child))
  }
  const onAbort = () => kill('stopped')
  signal.addEventListener('abort', onAbort)
  child.stdout?.on('data', (chunk: Buffer) => {
    output.add(chunk)
    if (output.total > floodBytes) kill(`wrote more than ${Math.floor(floodBytes / 1e6)} MB`)
  })
  pipes[0]?.on('data', () => onStatus(status(), kill, over.signal))
  // A process that has already ended reads no input; its exit is reported separately.
  for (const pipe of pipes.slice(1)) pipe?.on('error', () => undefined)
  for (const [at, content] of inputs.entries()) pipes[1 + at]?.end(content)
  void clock.sleep(timeoutMs, over.signal).then(() => over.signal.aborted || kill(timedOut(timeoutMs)))
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) => reject(notStarted(cause)))
      child.once('exit', (exitCode) => {
        void clock.sleep(leftoverTimeout, over.signal).then(() => over.signal.aborted || stop(child))
        void clock.sleep(killTimeout, over.signal).then(() => over.signal.aborted || detach(child))
        void Promise.all([child.stdout, child.stderr, pipes[0]].map(whenClosed)).then(() => resolve(exitCode))
      })
    })
    return { output, code, stderr: stderr(), status: status(), ...(killed !== undefined && { killed }) }
  } finally {
    over.abort()
    signal.removeEventListener('abort', onAbort)
    for (const stream of streamsOf(child)) stream?.destroy()
  }
}

function stop(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Stops waiting for a process that does not end, so that the caller can go on. */
function detach(child: ChildProcess): void {
  for (const stream of streamsOf(child)) stream?.destroy()
  if (child.exitCode === null && child.signalCode === null) child.emit('exit', null)
}

/** Empty if the process could not be started for lack of descriptors: Node leaves `stdio` out then. */
function streamsOf({ stdio }: { stdio?: readonly unknown[] }): (Duplex | null)[] {
  return (stdio ?? []) as (Duplex | null)[]
}

/** Resolves when a stream is closed. */
function whenClosed(stream: Readable | null | undefined): Promise<void> {
  if (!stream || stream.closed) return Promise.resolve()
  return new Promise((resolve) => stream.once('close', resolve))
}

function collectText(stream: Readable | null | undefined, maxBytes: number): () => string {
  let text = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (chunk: string) => {
    if (text.length < maxBytes) text += chunk.slice(0, maxBytes)
  })
  return () => text
}

function timedOut(timeoutMs: Millis): string {
  return `timed out after ${timeoutMs / 1000} s`
}

function notStarted(cause: Error): HeddleError {
  const message = `the command could not be started: ${cause.message}`
  return new HeddleError('exec_failed', message, 'try again; heddle doctor shows what is wrong', {
    cause,
    retry: 'later',
  })
}
