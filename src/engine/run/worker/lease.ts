import type { Millis } from '../../../domain/clock.ts'
import { insertOwner, recordHeartbeat, removeOwner } from '../../../store/rows/owners.ts'
import type { OwnerLocks } from '../../../store/sqlite/owner-locks.ts'
import type { Engine } from '../../runtime.ts'

/** Owner id before the worker registers and after it leaves. */
const unregistered = ''

/** Part of the lease after which a process without a heartbeat no longer relies on it. */
const atRiskAfter = 0.8

/** The worker, as far as its lease needs it. */
interface LeaseHolder {
  locks: OwnerLocks
  pid: number
  /** Stops all runs in good order, before the owner id is given up. */
  stopRuns(reason: string): Promise<void>
}

/** The right of this process to execute runs: a registered owner id, kept alive by heartbeats. */
export class Lease {
  workerId = unregistered
  /** Whether a heartbeat is being written; a stuck database may never answer it. */
  isBeating = false
  /** Whether any worker may have something to do, as the last heartbeat found it. */
  hasWork = true
  /** The last successful heartbeat, by our own clock. */
  #lastBeat: Millis = 0
  #hasAbandoned = false
  #beating: Promise<void> | undefined
  #unlock: () => void = () => undefined
  readonly #engine: Engine
  readonly #holder: LeaseHolder

  constructor(engine: Engine, holder: LeaseHolder) {
    this.#engine = engine
    this.#holder = holder
  }

  /** Registers under a new owner id each time, so that an id is never reused. */
  async join(): Promise<void> {
    const { store, clock, newId } = this.#engine
    this.workerId = newId()
    this.#unlock = this.#holder.locks.hold(this.workerId)
    const at = clock.monotonic()
    const owner = { id: this.workerId, pid: this.#holder.pid, startedAt: clock.now(), beatAt: at }
    await store.write('owner', (tx) => insertOwner(tx, owner))
    this.#lastBeat = at
    this.#hasAbandoned = false
  }

  /** Stops all runs and unregisters the owner id; claims that arrive later under it are not started. */
  async leave(): Promise<void> {
    const { workerId } = this
    this.workerId = unregistered
    await this.#holder.stopRuns('this process was silent for longer than its lease')
    // Release the lock file first: a process that dies between the two leaves a row without a lock, which recovery removes.
    this.#unlock()
    await this.#engine.store.write('owner', (tx) => removeOwner(tx, workerId))
  }

  /** Sends a heartbeat. A worker that was silent for too long, or was declared dead, registers again under a new id. */
  heartbeat(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = undefined
    })
    return this.#beating
  }

  async #beatOnce(): Promise<void> {
    const { store, clock } = this.#engine
    const at = clock.monotonic()
    const isLost = this.#hasAbandoned || this.atRisk
    const beat = isLost ? undefined : await store.write('owner', (tx) => recordHeartbeat(tx, this.workerId, at))
    if (!beat) {
      this.hasWork = true
      // Runs that other workers took over meanwhile are fenced from us.
      await this.leave()
      await this.join()
      return
    }
    this.#lastBeat = at
    this.hasWork = beat.hasWork
  }

  /** Whether other workers may consider this one dead, or soon will. */
  get atRisk(): boolean {
    return this.msUntilRisk < 0
  }

  /** How long the last heartbeat still counts. */
  get msUntilRisk(): Millis {
    const { clock, limits } = this.#engine
    return this.#lastBeat + limits.leaseMs * atRiskAfter - clock.monotonic()
  }

  /** Notes that runs were aborted without a write: they keep the old owner id, so that recovery finds them. */
  noteAbandoned(): void {
    this.#hasAbandoned = true
  }
}
