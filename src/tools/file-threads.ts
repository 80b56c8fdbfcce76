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

/** How long a job may take that somebody asked for. */
export const patience = 20_000
// A look that nobody asked for holds nobody up.
const surveyPatience = 900
// Without it a grant lapses that a person has given.
const hiddenMarksPatience = 5_000
const usualThreads = 2
const mostMegabytes = 256

/** A thread that has answered is kept for the next job; one that was stopped is replaced. */
export function fileThreads(clock: Clock, most = usualThreads): FileThreads {
  const idle: Thread[] = []
  const enter = turnstile(most)
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
        thread.worker.unref()
        idle.push(thread)
        leave()
      } else void thread.worker.terminate().finally(leave)
      if ('late' in end) return 'late'
      if ('done' in end) return end.done as JobResult<J>
      throw 'failed' in end ? failure(end.failed) : end.stopped
    },
  }
}

interface Thread {
  worker: Worker
  /** Resolves once it can begin. */
  isReady: Promise<void>
}

type Ending = Exclude<ThreadSays, { found: unknown } | { ready: true }> | { late: true } | { stopped: unknown }

/** Hands a job to a thread and waits for what ends it first: its answer, its death, the signal or the clock. */
function ending(
  { worker, isReady }: Thread,
  job: FileJob,
  { clock, signal, onFound }: { clock: Clock; signal: AbortSignal; onFound(found: FoundFile): void },
): Promise<Ending> {
  const over = new AbortController()
  const ended = new Promise<Ending>((resolve) => {
    const hear = (words: ThreadSays) => {
      if ('found' in words) onFound(words.found)
      else if (!('ready' in words)) resolve(words)
    }
    const die = (error: unknown) => resolve({ stopped: error })
    const stop = () => resolve({ stopped: signal.reason })
    worker.on('message', hear).on('error', die)
    signal.addEventListener('abort', stop)
    over.signal.addEventListener('abort', () => {
      worker.off('message', hear).off('error', die)
      signal.removeEventListener('abort', stop)
    })
    // The little time that a survey has would be gone before a new thread begins.
    const surveyMs =
      'survey' in job || 'compare' in job ? surveyPatience : 'hiddenMarks' in job ? hiddenMarksPatience : undefined
    const timeUp =
      surveyMs === undefined
        ? clock.sleep(patience, over.signal)
        : isReady.then(() => clock.sleep(surveyMs, over.signal))
    void timeUp.then(() => resolve({ late: true }))
    worker.ref()
    worker.postMessage(job)
  })
  return ended.finally(() => over.abort())
}

function newThread(idle: Thread[]): Thread {
  // The sources and what is built from them have different endings.
  const program = import.meta.url.endsWith('.ts') ? './file-thread.ts' : './file-thread.js'
  const worker = new Worker(new URL(program, import.meta.url), {
    name: 'heddle files',
    // Nothing of what the program was started with is a thread's business.
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: mostMegabytes },
  })
  const thread = { worker, isReady: new Promise<void>((resolve) => worker.once('message', () => resolve())) }
  // One that dies while nobody listens must not take the process along, nor be used again.
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
