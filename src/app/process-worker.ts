import type { WorkInProgress } from '../api/views/run.ts'
import type { Config } from '../config/config.ts'
import type { Decision } from '../domain/approval.ts'
import { restingFires } from '../engine/jobs/close-fire.ts'
import { timedJobs } from '../engine/jobs/due-jobs.ts'
import { type Senders, timedMessages } from '../engine/jobs/send.ts'
import { decide } from '../engine/run/approvals/decide.ts'
import { defaultAgentProblem } from '../engine/run/check-input.ts'
import { type AcceptedInput, type Submission, submit } from '../engine/run/submit.ts'
import { splitBySession } from '../engine/run/worker/recover.ts'
import { startWorker, type Worker } from '../engine/run/worker/worker.ts'
import type { Runtime } from '../engine/runtime.ts'
import type { SearchIndex } from '../engine/search/search-index.ts'
import { resolveSession } from '../engine/turns/route.ts'
import type { FileIndex } from '../memory/index-files.ts'
import { recordEvent } from '../store/rows/events.ts'
import { fileLocks, heartbeatOnlyLocks, takeSingletonLock } from '../store/sqlite/owner-locks.ts'
import type { AppAgents } from './agents.ts'
import { startBackgroundJobs } from './background.ts'
import { daemonLock } from './daemon-process.ts'
import type { AppEngine } from './engine.ts'
import type { AppSemanticSearch } from './semantic-search.ts'

/** Context of a worker besides the engine. */
interface ProcessWorkerContext {
  config: Pick<Config, 'memory' | 'tools' | 'database'>
  /** Directory for lock files. */
  runDirectory: string
  agents: AppAgents
  files: FileIndex | undefined
  search: SearchIndex
  embedding: AppSemanticSearch | undefined
  senders: Senders
  tell?(text: string): void
}

/** The worker of this process, if one was started: inputs that arrive here go to it first. */
export class ProcessWorker {
  readonly #engine: AppEngine
  readonly #context: ProcessWorkerContext
  #worker: Worker | undefined

  constructor(engine: AppEngine, context: ProcessWorkerContext) {
    this.#engine = engine
    this.#context = context
  }

  /** Whether this process has a worker that may execute runs. */
  get holdsLease(): boolean {
    return this.#worker?.holdsLease === true
  }

  submit(input: Submission): Promise<AcceptedInput> {
    return this.#worker ? this.#worker.submit(input) : submit(this.#engine, input)
  }

  decide(id: number, decision: Decision, by: string): ReturnType<Worker['decide']> {
    return this.#worker ? this.#worker.decide(id, decision, by) : decide(this.#engine, id, decision, { by })
  }

  /** Starts a worker and its background jobs, for one session or for all; a home has only one worker for all. */
  async start(only?: { folder: string; session: string }): Promise<WorkInProgress> {
    const engine = this.#engine
    const { config, runDirectory, agents, tell, files, search, embedding, senders } = this.#context
    const { store } = engine
    const session = only && (await store.read((rows) => resolveSession(rows, `session:${only.session}`, only.folder)))
    const unlock = session ? () => undefined : takeSingletonLock(runDirectory, daemonLock, process.pid)
    await engine.prepare()
    const noDefault = only ? undefined : defaultAgentProblem(engine.defaultAgent, agents.askable())
    if (noDefault) tell?.(`${noDefault.message}    ${noDefault.remedy}`)
    if (config.tools.exec.sandbox === 'off') await auditUnconfined(engine)
    const onError = (error: unknown) => tell?.(`error:  ${error instanceof Error ? error.message : error}`)
    const worker = await startWorker(engine, {
      locks: config.database === 'sqlite' ? fileLocks(runDirectory) : heartbeatOnlyLocks,
      pid: process.pid,
      onError,
      // A process that works for one session starts nothing else.
      ...(session
        ? { sessionId: session.id }
        : { dueSources: [timedJobs(engine), restingFires(engine), timedMessages(engine, { senders, onError })] }),
    })
    this.#worker = worker
    const jobs = startBackgroundJobs(engine, worker, {
      memory: config.memory,
      files,
      search,
      embedding,
      only: session,
      onError,
    })
    const { resumed } = worker.recovered
    return {
      ...worker.recovered,
      queued: [],
      ...(session && (await store.read((rows) => splitBySession(rows, resumed, session.id)))),
      whenNarrated: jobs.whenNarrated,
      cancelNarration: jobs.cancelNarration,
      stop: async () => {
        if (this.#worker === worker) this.#worker = undefined
        const stopping = jobs.stop()
        await worker.stop().finally(unlock)
        await stopping
      },
    }
  }
}

/** Records that commands run without a sandbox, so that it can be found later. */
function auditUnconfined({ store, clock }: Runtime): Promise<void> {
  const event = { kind: 'sandbox.off' as const, subject: `process:${process.pid}`, payload: {}, scope: null }
  return store.write('owner', (tx) => recordEvent(tx, { at: clock.now(), ...event }))
}
