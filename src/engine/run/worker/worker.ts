import type { Millis } from '../../../domain/clock.ts'
import type { OwnerLocks } from '../../../store/sqlite/owner-locks.ts'
import type { Engine } from '../../runtime.ts'
import { idSuffixIndexer } from '../../turns/id-suffixes.ts'
import { finishCancels } from '../cancel.ts'
import type { AcceptedInput, Submission } from '../submit.ts'
import { Arrivals } from './arrivals.ts'
import { Claimer } from './claimer.ts'
import { type DueSource, watchDue } from './due.ts'
import { Lease } from './lease.ts'
import { type RecoveryReport, recoverDead } from './recover.ts'
import { RunPool } from './run-pool.ts'
import { tidySessions } from './tidy.ts'
import { timedRuns } from './timed-runs.ts'

const sweepEvery: Millis = 1000
/** Without work, one of so many sweeps looks at everything. */
const idleSweepsPerLook = 60

export interface WorkerOptions {
  locks: OwnerLocks
  pid: number
  /** Executes only runs of this session's requests. */
  sessionId?: string
  /** Other rows that wait for a moment, for a worker of all sessions. */
  dueSources?: readonly DueSource[]
  /** Receives errors that belong to no run: bugs in the worker itself, or a database that does not answer. */
  onError(error: unknown): void
}

/** Claims queued runs and executes them, as many at a time as the limits allow. */
export interface Worker {
  /** Outcome of the recovery at startup. */
  readonly recovered: RecoveryReport
  /** Whether it may execute runs now: its lease is kept alive by heartbeats. */
  readonly holdsLease: boolean
  /** Accepts an input, and starts its run in the same commit if the session is idle. */
  submit(input: Submission): Promise<AcceptedInput>
  /** Records a decision about a pending call, and starts its run in the same commit. */
  decide: Claimer['decide']
  /** Claims nothing more, releases its runs, and resolves when all have stopped. */
  stop(): Promise<void>
}

export async function startWorker(engine: Engine, options: WorkerOptions): Promise<Worker> {
  const { pid, locks, sessionId, onError, dueSources = [] } = options
  // Abandoned runs are released under the old owner id, before recovery could take them for those of a dead process.
  const stopRuns = async (reason: string) => {
    await pool.stopAll(reason)
    await pool.releaseAbandoned()
  }
  const lease = new Lease(engine, { locks, pid, stopRuns })
  const arrivals = new Arrivals(engine.clock)
  const pool: RunPool = new RunPool(engine, {
    lease,
    arrivals,
    onError,
    claimant: () => claimer.claimant,
    onRoom: (isQueueEmpty) => claimer.claimForFreeSlot(isQueueEmpty),
  })
  const claimer = new Claimer(engine, {
    lease,
    arrivals,
    onError,
    start: (claimed) => pool.start(claimed),
    ...(sessionId !== undefined && { sessionId }),
  })
  await lease.join()
  const recovered = await recoverDead(engine, lease.workerId, locks)
  const stopped = new AbortController()
  const stopListening = engine.store.onHint((hint) => {
    if (hint === 'runs') claimer.claimAvailable()
    if (hint === 'cancel') pool.checkCancellations()
  })
  const parts = { engine, lease, pool, claimer, locks, onError, dueSources, stopped: stopped.signal }
  const duties = [sendHeartbeats(parts), sweep(parts), watchLease(parts), watchDueRows(parts)]
  claimer.claimAvailable()
  return {
    recovered,
    get holdsLease() {
      return lease.workerId !== '' && !lease.atRisk
    },
    submit: (input) => claimer.submit(input),
    decide: (...decision) => claimer.decide(...decision),
    async stop() {
      stopListening()
      stopped.abort()
      const drained = claimer.drain()
      pool.requestStop('the process is stopping')
      await drained
      await pool.stopAll('the process is stopping')
      await Promise.all(duties)
      await lease.leave()
    },
  }
}

/** The parts of a worker, for its background loops. */
interface WorkerParts extends Pick<WorkerOptions, 'locks' | 'onError'> {
  engine: Engine
  lease: Lease
  pool: RunPool
  claimer: Claimer
  dueSources: readonly DueSource[]
  stopped: AbortSignal
}

/** Sends heartbeats, several per lease however short it is. */
async function sendHeartbeats({ engine: { clock, limits }, lease, onError, stopped }: WorkerParts): Promise<void> {
  while (!stopped.aborted) {
    lease.isBeating = true
    await lease.heartbeat().catch((error) => {
      lease.hasWork = true
      onError(error)
    })
    lease.isBeating = false
    await clock.sleep(Math.min(sweepEvery, limits.leaseMs / 4), stopped)
  }
}

/** Runs every duty once a second, since hints may be lost. */
async function sweep({ engine, lease, pool, claimer, locks, onError, stopped }: WorkerParts): Promise<void> {
  const { clock, limits } = engine
  const duties = [
    () => pool.releaseAbandoned(),
    () => pool.releaseOrphanedClaims(),
    () => recoverDead(engine, lease.workerId, locks),
    () => finishCancels(engine),
    () => pool.checkCancellations(),
    () => claimer.claimAvailable(),
  ]
  const indexSuffixes = idSuffixIndexer(engine)
  // A duty that fails must not keep the others from running.
  const attempt = async (duty: () => unknown) => {
    try {
      await duty()
    } catch (error) {
      onError(error)
    }
  }
  for (let idleSweeps = 0; !stopped.aborted; idleSweeps++) {
    // Without work only the rows of dead workers are left, which can wait.
    if (lease.hasWork || idleSweeps % idleSweepsPerLook === 0) {
      for (const duty of duties) await attempt(duty)
    }
    await attempt(indexSuffixes)
    await clock.sleep(Math.min(sweepEvery, limits.leaseMs / 4), stopped)
  }
}

function watchDueRows({ engine, onError, dueSources, stopped }: WorkerParts): Promise<void> {
  return watchDue({ ...engine, onError }, [...timedRuns(engine), tidySessions(engine), ...dueSources], stopped)
}

/**
 * Stops all runs without writing if the database has not answered a heartbeat for so long that other workers may consider
 * this process dead. After a mere stall of the process, the next heartbeat releases the runs in order.
 */
async function watchLease({ engine: { clock, limits }, lease, pool, stopped }: WorkerParts): Promise<void> {
  while (!stopped.aborted) {
    const left = lease.msUntilRisk
    if (left <= 0 && lease.isBeating) pool.abandonAll()
    await clock.sleep(left > 0 ? left : limits.leaseMs / 2, stopped)
  }
}
