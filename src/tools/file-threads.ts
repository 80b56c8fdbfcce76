import { Worker } from 'node:worker_threads'
import type { Clock } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { FileJob, JobResult, ThreadSays } from './file-job.ts'
import type { FoundFile } from './search.ts'

/** Threads for work on files that may take long, or for ever: the event loop is not held up by it. */
export interface FileThreads {
  /** Does a job once a thread is free. `late`: it took too long and was stopped. */
  perform<J extends FileJob>(
    job: J,
    signal: AbortSignal,
    onFound?: (found: FoundFile) => void,
  ): Promise<JobResult<J> | 'late'>
}

/** How long a job may take. */
export const patience = 20_000
const mostThreads = 2
const mostMegabytes = 256

/** A thread that has answered is kept for the next job; one that was stopped is replaced. */
export function fileThreads(clock: Clock): FileThreads {
  const idle: Worker[] = []
  const enter = turnstile(mostThreads)
  return {
    async perform<J extends FileJob>(
      job: J,
      signal: AbortSignal,
      onFound: (found: FoundFile) => void = () => undefined,
    ) {
      const leave = await enter(signal)
      const thread = idle.pop() ?? newThread(idle)
      const end = await ending(thread, job, { clock, signal, onFound })
      if ('done' in end || 'failed' in end) {
        thread.unref()
        idle.push(thread)
        leave()
      } else void thread.terminate().finally(leave)
      if ('late' in end) return 'late'
      if ('done' in end) return end.done as JobResult<J>
      throw 'failed' in end ? failure(end.failed) : end.stopped
    },
  }
}

type Ending = Exclude<ThreadSays, { found: unknown }> | { late: true } | { stopped: unknown }

/** Hands a job to a thread and waits for what ends it first: its answer, its death, the signal or the clock. */
function ending(
  thread: Worker,
  job: FileJob,
  { clock, signal, onFound }: { clock: Clock; signal: AbortSignal; onFound(found: FoundFile): void },
): Promise<Ending> {
  const over = new AbortController()
  const ended = new Promise<Ending>((resolve) => {
    const hear = (words: ThreadSays) => ('found' in words ? onFound(words.found) : resolve(words))
    const die = (error: unknown) => resolve({ stopped: error })
    const stop = () => resolve({ stopped: signal.reason })
    thread.on('message', hear).on('error', die)
    signal.addEventListener('abort', stop)
    over.signal.addEventListener('abort', () => {
      thread.off('message', hear).off('error', die)
      signal.removeEventListener('abort', stop)
    })
    void clock.sleep(patience, over.signal).then(() => resolve({ late: true }))
    thread.ref()
    thread.postMessage(job)
  })
  return ended.finally(() => over.abort())
}

function newThread(idle: Worker[]): Worker {
  // The sources and what is built from them have different endings.
  const program = import.meta.url.endsWith('.ts') ? './file-thread.ts' : './file-thread.js'
  const thread = new Worker(new URL(program, import.meta.url), {
    name: 'heddle files',
    // Nothing of what the program was started with is a thread's business.
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: mostMegabytes },
  })
  // One that dies while nobody listens must not take the process along, nor be used again.
  return thread
    .on('error', () => undefined)
    .on('exit', () => {
      if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1)
    })
}

function failure({ message, known }: { message: string; known?: { code: string; remedy: string } }): Error {
  return known ? new HeddleError(known.code, message, known.remedy) : new Error(message)
}

/** Lets so many in at a time; the others wait in order, or leave when their signal says so. */
function turnstile(most: number): (signal: AbortSignal) => Promise<() => void> {
  let inside = 0
  const waiting: (() => void)[] = []
  const leave = () => {
    const next = waiting.shift()
    // Whoever waits takes over the place: nobody can come in between.
    if (next) next()
    else inside--
  }
  return async (signal) => {
    signal.throwIfAborted()
    if (inside < most) inside++
    else
      await new Promise<void>((resolve, reject) => {
        const enter = () => {
          signal.removeEventListener('abort', giveUp)
          resolve()
        }
        const giveUp = () => {
          waiting.splice(waiting.indexOf(enter), 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', giveUp, { once: true })
        waiting.push(enter)
      })
    return leave
  }
}
