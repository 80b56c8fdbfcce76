import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { programRoot } from '../../package-root.ts'
import type { FileJob, JobResult, ThreadMessage } from './file-job.ts'
import type { FileMatches } from './search.ts'

/** Worker threads for file jobs that may never end, so that they do not block the event loop. */
export interface FileThreads {
  /** Runs a job once a thread is free. `late`: it timed out and was stopped. */
  perform<J extends FileJob>(
    job: J,
    signal: AbortSignal,
    onFound?: (found: FileMatches) => void,
  ): Promise<JobResult<J> | 'late'>
}

/** Timeout of a job that an agent requested. */
export const jobTimeout = 20_000
// Short, since a survey delays every command.
const surveyTimeout = 900
// Longer, since without it the user's grant lapses.
const hiddenMarksTimeout = 5_000
const defaultThreads = 2
const maxMegabytes = 256

// Of all pools of the process: a thread keeps nothing of its last job, and a start costs more than most jobs do.
const idle: FileThread[] = []

/** Reuses a thread that finished its job; replaces one that was stopped. */
export function fileThreads(clock: Clock, maxThreads = defaultThreads): FileThreads {
  const acquire = semaphore(maxThreads)
  return {
    async perform<J extends FileJob>(
      job: J,
      signal: AbortSignal,
      onFound: (found: FileMatches) => void = () => undefined,
    ) {
      const release = await acquire(signal)
      const thread = idle.pop() ?? newThread()
      const end = await runJob(thread, job, { clock, signal, onFound })
      if ('done' in end || 'failed' in end) {
        thread.worker.unref()
        idle.push(thread)
        release()
      } else void thread.worker.terminate().finally(release)
      if ('late' in end) return 'late'
      if ('done' in end) return end.done as JobResult<J>
      throw 'failed' in end ? failure(end.failed) : end.stopped
    },
  }
}

interface FileThread {
  worker: Worker
  /** Resolves when it has started. */
  isReady: Promise<void>
}

type ThreadEnding = Exclude<ThreadMessage, { found: unknown } | { ready: true }> | { late: true } | { stopped: unknown }

/** Sends a job to a thread and waits for the first of: result, thread error, abort, timeout. */
function runJob(
  { worker, isReady }: FileThread,
  job: FileJob,
  { clock, signal, onFound }: { clock: Clock; signal: AbortSignal; onFound(found: FileMatches): void },
): Promise<ThreadEnding> {
  const over = new AbortController()
  const ended = new Promise<ThreadEnding>((resolve) => {
    const onMessage = (message: ThreadMessage) => {
      if ('found' in message) onFound(message.found)
      else if (!('ready' in message)) resolve(message)
    }
    const onError = (error: unknown) => resolve({ stopped: error })
    const stop = () => resolve({ stopped: signal.reason })
    worker.on('message', onMessage).on('error', onError)
    signal.addEventListener('abort', stop)
    over.signal.addEventListener('abort', () => {
      worker.off('message', onMessage).off('error', onError)
      signal.removeEventListener('abort', stop)
    })
    // Start the short timeout only when the thread is ready: starting one takes longer.
    const surveyMs =
      'survey' in job || 'compare' in job || 'contents' in job
        ? surveyTimeout
        : 'hiddenMarks' in job
          ? hiddenMarksTimeout
          : undefined
    const timeUp =
      surveyMs === undefined
        ? clock.sleep(jobTimeout, over.signal)
        : isReady.then(() => clock.sleep(surveyMs, over.signal))
    void timeUp.then(() => resolve({ late: true }))
    worker.ref()
    worker.postMessage(job)
  })
  return ended.finally(() => over.abort())
}

/** The build puts this file into others, but keeps the thread's program where it is. */
const threadProgram = `tools/files/file-thread${extname(import.meta.filename)}`

function newThread(): FileThread {
  const worker = new Worker(join(programRoot, threadProgram), {
    name: 'heddle files',
    // Threads must not see the environment.
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
  })
  const thread = { worker, isReady: new Promise<void>((resolve) => worker.once('message', () => resolve())) }
  // An idle thread that dies must not crash the process, nor be reused.
  worker
    .on('error', () => undefined)
    .on('exit', () => {
      if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1)
    })
  return thread
}

function failure({ message, known }: { message: string; known?: { code: string; remedy: string } }): Error {
  return known ? new HeddleError(known.code, message, known.remedy) : new Error(message)
}

/** Semaphore: callers beyond the max wait in order, or reject on abort. */
function semaphore(maxThreads: number): (signal: AbortSignal) => Promise<() => void> {
  let inside = 0
  const waiting: (() => void)[] = []
  const release = () => {
    const next = waiting.shift()
    // Hand the slot to the next waiter directly, so that no other caller can take it.
    if (next) next()
    else inside--
  }
  return async (signal) => {
    signal.throwIfAborted()
    if (inside < maxThreads) inside++
    else
      await new Promise<void>((resolve, reject) => {
        const acquire = () => {
          signal.removeEventListener('abort', onAbort)
          resolve()
        }
        const onAbort = () => {
          waiting.splice(waiting.indexOf(acquire), 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        waiting.push(acquire)
      })
    return release
  }
}
