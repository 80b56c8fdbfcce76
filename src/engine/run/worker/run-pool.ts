import type { Millis } from '../../../domain/clock.ts'
import { StorageFailure } from '../../../domain/errors.ts'
import type { Run } from '../../../domain/run.ts'
import { claimsOf } from '../../../store/rows/owners.ts'
import { findRun } from '../../../store/rows/runs.ts'
import type { Engine } from '../../runtime.ts'
import { Stop } from '../active-run.ts'
import type { Claimant, ClaimedRun } from '../claimed-run.ts'
import { KeyedQueue } from '../keyed-queue.ts'
import { executeRun } from '../loop.ts'
import type { Arrivals } from './arrivals.ts'
import type { Lease } from './lease.ts'
import { type Crash, releaseRun } from './recover.ts'

/** The worker, as far as its run pool needs it. */
interface PoolOptions {
  lease: Lease
  arrivals: Arrivals
  /** The claimant for follow-up runs; undefined while this process takes no new work. */
  claimant(): Claimant | undefined
  /** A run has left its slot; `isQueueEmpty` if no other was queued as far as its end saw. */
  onRoom(isQueueEmpty: boolean): void
  onError(error: unknown): void
}

/** The runs that this process executes. */
export class RunPool {
  readonly #engine: Engine
  readonly #options: PoolOptions
  readonly #fileQueue = new KeyedQueue()
  /** By claim: a run may be claimed again before this process notices the end of its last claim. */
  readonly #busy = new Map<string, { runId: string; stop: AbortController; done: Promise<void> }>()
  /** Claims that this process still owns in the database and must release. */
  readonly #toRelease: (ClaimedRun & { wasStarted: boolean; crash?: Crash })[] = []
  /** Orphaned claims seen at the last sweep, and those already released. */
  #orphaned = new Set<string>()
  readonly #released = new Set<string>()
  #releasing: Promise<void> | undefined

  constructor(engine: Engine, options: PoolOptions) {
    this.#engine = engine
    this.#options = options
  }

  /** Executes a claimed run, and the runs that its end claims. */
  start(claimed: ClaimedRun): void {
    const key = claimKey(claimed.run)
    if (this.#released.delete(key)) return
    const { lease, arrivals, claimant, onRoom, onError } = this.#options
    // Claimed under an owner id that was given up meanwhile.
    if (claimed.claim.workerId !== lease.workerId) return void this.#toRelease.push({ ...claimed, wasStarted: false })
    const stop = new AbortController()
    const ended = new AbortController()
    // A cancel that was requested while an earlier owner had the run.
    if (claimed.run.cancelReason !== null) stop.abort(new Stop('cancelled', claimed.run.cancelReason))
    this.#watchTime(claimed, stop, ended.signal)
    const worker = {
      ...{ signal: stop.signal, leaseAtRisk: () => lease.atRisk, claimant, fileQueue: this.#fileQueue },
      start: (child: ClaimedRun) => this.start(child),
    }
    let isQueueEmpty = false
    const execute = () => executeRun(this.#engine, claimed, worker)
    const done = (arrivals.pause()?.then(execute) ?? execute())
      .then((after) => {
        if (after?.next) this.start(after.next)
        isQueueEmpty = after?.isQueueEmpty === true
      })
      .catch((error) => {
        // A storage failure is not the run's fault.
        const crash = error instanceof StorageFailure ? {} : ({ crash: 'own fault' } as const)
        this.#toRelease.push({ ...claimed, wasStarted: true, ...crash })
        onError(error)
      })
      .finally(() => {
        ended.abort('ended')
        // Aborted because this process lost its lease: it lives, so the run has not crashed it.
        if (isAbandoned(stop.signal)) this.#toRelease.push({ ...claimed, wasStarted: true })
        this.#busy.delete(key)
        onRoom(isQueueEmpty)
      })
    this.#busy.set(key, { runId: claimed.run.id, stop, done })
  }

  /** Enforces timeout and deadline, whatever a model or a tool does. A timeout of 0 means none. */
  #watchTime({ run, actor }: ClaimedRun, stop: AbortController, ended: AbortSignal): void {
    const { clock, limits } = this.#engine
    const { timeoutMs: asked = limits.timeoutMs, deadline } = run.options
    const { timeoutMs: max = asked } = actor.limits
    const limit = asked > 0 ? Math.min(asked, max) : max
    const expire = (left: Millis, reason: string) =>
      clock.sleep(Math.max(0, left), ended).then(() => {
        if (!ended.aborted) stop.abort(new Stop('timeout', reason))
      })
    if (limit > 0) void expire(limit - run.activeMs, `it ran for ${Math.round(limit / 1000)} s, its limit`)
    if (deadline !== undefined) void expire(deadline - clock.now(), 'its deadline passed')
  }

  /** Stops all runs in good order, including follow-up runs, and resolves when none is left. */
  async stopAll(reason: string): Promise<void> {
    while (this.#busy.size > 0) {
      this.requestStop(reason)
      await Promise.all([...this.#busy.values()].map(({ done }) => done))
    }
  }

  /** Asks all runs to stop and requeue themselves. */
  requestStop(reason: string): void {
    for (const { stop } of this.#busy.values()) stop.abort(new Stop('drain', reason))
  }

  /** Aborts every run without writing: other workers may have taken them over already. */
  abandonAll(): void {
    this.#options.lease.noteAbandoned()
    for (const { stop } of this.#busy.values()) stop.abort(new Stop('fenced', 'this process could not renew its lease'))
  }

  /** Aborts our runs for which a cancel was requested. */
  checkCancellations(): void {
    for (const { runId, stop } of this.#busy.values()) {
      this.#engine.store
        .read((rows) => findRun(rows, runId))
        .then((run) => {
          if (run?.cancelReason != null) stop.abort(new Stop('cancelled', run.cancelReason))
        })
        .catch((error) => this.#options.onError(error))
    }
  }

  /** Releases runs whose end could not be written, that were abandoned, or that were never started. */
  releaseAbandoned(): Promise<void> {
    this.#releasing ??= this.#releaseAll().finally(() => {
      this.#releasing = undefined
    })
    return this.#releasing
  }

  async #releaseAll(): Promise<void> {
    for (let next = this.#toRelease[0]; next; next = this.#toRelease[0]) {
      await releaseRun(this.#engine, next.run, next.claim.workerId, next)
      this.#toRelease.shift()
    }
  }

  /**
   * Releases claims that committed but whose reply from the database was lost: we own them and execute nothing. A claim
   * is released when two sweeps in a row see it; if the reply arrives after all, the run is not started.
   */
  async releaseOrphanedClaims(): Promise<void> {
    const { store } = this.#engine
    const { workerId } = this.#options.lease
    const ours = await store.read((rows) => claimsOf(rows, workerId))
    const orphaned = ours.filter(
      (run) => !this.#busy.has(claimKey(run)) && !this.#toRelease.some((each) => each.run.id === run.id),
    )
    const seenTwice = orphaned.filter((run) => this.#orphaned.has(claimKey(run)))
    this.#orphaned = new Set(orphaned.map(claimKey))
    for (const claim of seenTwice) {
      this.#released.add(claimKey(claim))
      const run = await store.read((rows) => findRun(rows, claim.id))
      // The reply may arrive during the release, so the run may have called a model.
      if (run?.epoch === claim.epoch)
        await releaseRun(this.#engine, run, workerId, { wasStarted: false, mayHaveAsked: true })
    }
  }
}

function isAbandoned({ reason }: AbortSignal): boolean {
  return reason instanceof Stop && reason.kind === 'fenced'
}

function claimKey({ id, epoch }: Pick<Run, 'id' | 'epoch'>): string {
  return `${id}/${epoch}`
}
