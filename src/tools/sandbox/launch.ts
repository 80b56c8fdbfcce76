import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import type { Clock, Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Identity } from './host.ts'
import { KeptOutput } from './kept-output.ts'
import type { Programs } from './programs.ts'

const longestComplaint = 4000
/** How long what is killed may take to be gone: only what the kernel holds, or what is not in the group, takes long. */
const longestDeath: Millis = 5000
/** How long what a process has left in its group may still write. cat must have left the group by then. */
const longestRest: Millis = 200
// All that is started is one process group, and lives as long as a descriptor that this process holds: a guard reads
// from it, and kills the group once it ends, by our hand or with us. Node's pipes are sockets, and /dev/stdout cannot be
// opened where it is one: cat makes a pipe of it. It is not of the group, so that it brings to an end what was written
// however that ended. Descriptors that we inherited from whoever started us are not for commands. What is started looks at
// the lifeline once more and closes it (`stillWanted`): bubblewrap may lose its parent before it has said that it minds.
const lifeline = 8
export const stillWanted = `read -t 0 -u ${lifeline} && exit 1; exec ${lifeline}<&-`
const launcher = `cat=$1 setsid=$2; shift 2
{ read -r -u ${lifeline}; kill -KILL 0; } < /dev/null > /dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- &
exec > >(exec "$setsid" "$cat" ${lifeline}>&-)
for fd in /dev/fd/*; do fd=\${fd##*/}; (( fd > ${lifeline} )) && eval "exec $fd>&-"; done
exec "$@"`

/** A process to start, with everything it gets. */
export interface Launch {
  argv: string[]
  env: Record<string, string>
  cwd: string
  /** As whom, if not as this process itself. */
  as?: Identity
  /** What it finds on descriptors from 4 on. */
  given?: (string | Buffer)[]
}

export interface Bounds {
  clock: Clock
  signal: AbortSignal
  timeoutMs: Millis
  /** Bytes of output that are kept, and those after which the process is killed. */
  keptBytes: number
  floodBytes: number
}

/** How it ended: by itself, or killed, and then why. */
export interface Ended {
  output: KeptOutput
  /** null: a signal that was not ours. */
  code: number | null
  killed?: string
  /** What it wrote to descriptors 2 and 3. */
  complaint: string
  status: string
}

/**
 * Starts a process and waits for the end of it. Whatever it does, it ends: by itself, at the deadline, by the signal,
 * or when it writes without end. Throws the signal's reason when that was it.
 */
export async function launch(
  { bash, cat, setsid }: Programs,
  order: Launch,
  { clock, signal, timeoutMs, keptBytes, floodBytes }: Bounds,
  onStatus: (status: string, kill: (why: string) => void, over: AbortSignal) => void = () => undefined,
): Promise<Ended> {
  signal.throwIfAborted()
  const over = new AbortController()
  const output = new KeptOutput(keptBytes)
  const given = order.given ?? []
  const child = spawn(bash, ['--norc', '--noprofile', '-c', launcher, 'bash', cat, setsid, ...order.argv], {
    cwd: order.cwd,
    env: order.env,
    detached: true,
    stdio: ['ignore', ...Array.from({ length: lifeline }, () => 'pipe' as const)],
    ...order.as,
  })
  const [, , , ...pipes] = streamsOf(child)
  const [complaint, status] = [textOf(child.stderr, longestComplaint), textOf(pipes[0], longestComplaint)]
  let killed: string | undefined
  const kill = (why: string) => {
    killed ??= why
    // Otherwise the group is gone already, and its number may be another's.
    if (child.exitCode === null && child.signalCode === null) stop(child)
    void clock.sleep(longestDeath, over.signal).then(() => over.signal.aborted || letGo(child))
  }
  const onAbort = () => kill('stopped')
  signal.addEventListener('abort', onAbort)
  child.stdout?.on('data', (chunk: Buffer) => {
    output.add(chunk)
    if (output.total > floodBytes) kill(`wrote more than ${Math.floor(floodBytes / 1e6)} MB`)
  })
  pipes[0]?.on('data', () => onStatus(status(), kill, over.signal))
  // A process that has ended already takes nothing any more, and tells so by its end.
  for (const pipe of pipes.slice(1)) pipe?.on('error', () => undefined)
  for (const [at, content] of given.entries()) pipes[1 + at]?.end(content)
  void clock.sleep(timeoutMs, over.signal).then(() => over.signal.aborted || kill(timedOut(timeoutMs)))
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) => reject(notStarted(cause)))
      child.once('exit', (exitCode) => {
        void clock.sleep(longestRest, over.signal).then(() => over.signal.aborted || stop(child))
        void clock.sleep(longestDeath, over.signal).then(() => over.signal.aborted || letGo(child))
        void Promise.all([child.stdout, child.stderr, pipes[0]].map(closing)).then(() => resolve(exitCode))
      })
    })
    signal.throwIfAborted()
    return { output, code, complaint: complaint(), status: status(), ...(killed !== undefined && { killed }) }
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

/** Stops listening to what does not go away: it must not hold up who waits for it. */
function letGo(child: ChildProcess): void {
  for (const stream of streamsOf(child)) stream?.destroy()
  if (child.exitCode === null && child.signalCode === null) child.emit('exit', null)
}

/** None where the process could not be started for want of descriptors: Node leaves them out then. */
function streamsOf({ stdio }: { stdio?: readonly unknown[] }): (Duplex | null)[] {
  return (stdio ?? []) as (Duplex | null)[]
}

/** Resolves once all was heard that a stream had to say. */
function closing(stream: Readable | null | undefined): Promise<void> {
  if (!stream || stream.closed) return Promise.resolve()
  return new Promise((resolve) => stream.once('close', resolve))
}

function textOf(stream: Readable | null | undefined, mostBytes: number): () => string {
  let text = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (chunk: string) => {
    if (text.length < mostBytes) text += chunk.slice(0, mostBytes)
  })
  return () => text
}

function timedOut(timeoutMs: Millis): string {
  return `timed out after ${timeoutMs / 1000} s`
}

function notStarted(cause: Error): HeddleError {
  const message = `the command could not be started: ${cause.message}`
  return new HeddleError('exec_failed', message, 'try again; heddle doctor tells what is wrong', {
    cause,
    retry: 'later',
  })
}
