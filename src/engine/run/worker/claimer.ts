import type { Decision } from '../../../domain/approval.ts'
import { lanes } from '../../../domain/run.ts'
import { type ClaimView, viewOfClaimant } from '../../../store/rows/queue.ts'
import type { Reading } from '../../../store/store.ts'
import type { Engine } from '../../runtime.ts'
import { decide } from '../approvals/decide.ts'
import { claimRuns } from '../claim.ts'
import type { Claimant, ClaimedRun } from '../claimed-run.ts'
import { freeSlots } from '../lanes.ts'
import { nextRuns } from '../queue-order.ts'
import { type AcceptedInput, type Submission, submit } from '../submit.ts'
import type { Arrivals } from './arrivals.ts'
import type { Lease } from './lease.ts'

/** Max runs that one transaction claims. */
const maxBatch = 16

/** The worker, as far as its claimer needs it. */
interface ClaimerOptions {
  lease: Lease
  arrivals: Arrivals
  /** Claims only what belongs to this session. */
  sessionId?: string
  start(claimed: ClaimedRun): void
  onError(error: unknown): void
}

/** Claims queued runs for this process, as many as the limits allow. */
export class Claimer {
  readonly #engine: Engine
  readonly #options: ClaimerOptions
  readonly #writing = new Set<Promise<void>>()
  #claiming: Promise<void> | undefined
  #lookAgain = false
  /** Whether a run was queued at the last look, or a look is under way. */
  #mayBeQueued = false
  #isDraining = false

  constructor(engine: Engine, options: ClaimerOptions) {
    this.#engine = engine
    this.#options = options
  }

  /** Undefined while this process must not claim. */
  get claimant(): Claimant | undefined {
    const { lease, sessionId } = this.#options
    if (this.#isDraining || lease.atRisk) return undefined
    return { workerId: lease.workerId, ...(sessionId !== undefined && { sessionId }) }
  }

  /** Claims until nothing is claimable. A call while it is claiming makes it look once more. */
  claimAvailable(): void {
    this.#lookAgain = true
    if (this.#isDraining || this.#claiming) return
    this.#claiming = this.#claimAll()
      .catch((error) => this.#options.onError(error))
      .finally(() => {
        this.#claiming = undefined
        if (this.#lookAgain && !this.#isDraining) this.claimAvailable()
      })
  }

  /**
   * Claims for a slot that a run has left, unless nothing waits for it. On PostgreSQL a run may be queued after the end of another
   * has read the queue, and looked at before that end commits: then the end has seen no run, and the look no free slot.
   */
  claimForFreeSlot(isQueueEmpty: boolean): void {
    if (!isQueueEmpty || this.#mayBeQueued) this.claimAvailable()
  }

  async #claimAll(): Promise<void> {
    const { lease, start } = this.#options
    while (this.#lookAgain && !this.#isDraining) {
      this.#lookAgain = false
      // A claim under an owner id that others may declare dead would have to be released at once.
      if (lease.atRisk) await lease.heartbeat()
      for (let found = true; found && !this.#isDraining; ) {
        const { claimant } = this
        if (!claimant || !(await this.#isAnyClaimable(claimant))) break
        const claimed = await claimRuns(this.#engine, claimant, maxBatch)
        for (const each of claimed) start(each)
        found = claimed.length > 0
      }
    }
  }

  /**
   * Whether a claim is worth a try. Takes no lock and may be out of date: each claim checks the limits itself. It is asked with each
   * hint: of the workers without room for what is queued, none may take the claim lock.
   */
  #isAnyClaimable(claimant: Claimant): Promise<boolean> {
    // The look may miss a slot that becomes free meanwhile.
    this.#mayBeQueued = true
    return this.#engine.store.read(async (rows) => {
      const view = await viewOfClaimant(rows, claimant.workerId)
      this.#mayBeQueued = view?.queued !== 0
      return view !== undefined && view.queued > 0 && (await hasRoom(rows, this.#engine, claimant, view))
    })
  }

  /** Accepts an input; the run of an idle session is claimed in the same commit and started. */
  submit(input: Submission): Promise<AcceptedInput> {
    return this.#claimWith((worker) => this.#options.arrivals.accept(() => submit(this.#engine, input, worker)))
  }

  /** Records a decision about a pending call; its run is claimed in the same commit and started. */
  decide(id: number, decision: Decision, by: string): ReturnType<typeof decide> {
    return this.#claimWith((worker) => decide(this.#engine, id, decision, { by, ...(worker && { worker }) }))
  }

  /** Runs a write that may claim a run, and starts that run. */
  async #claimWith<T extends { claimed?: ClaimedRun }>(
    write: (worker?: { engine: Engine; claimant: Claimant }) => Promise<T>,
  ): Promise<T> {
    const { claimant } = this
    if (!claimant) return write()
    const writing = write({ engine: this.#engine, claimant })
    const started = writing.then(({ claimed }) => claimed && this.#options.start(claimed)).catch(() => undefined)
    this.#writing.add(started)
    void started.finally(() => this.#writing.delete(started))
    return writing
  }

  /** Claims nothing more, and resolves when everything it has claimed was started. */
  async drain(): Promise<void> {
    this.#isDraining = true
    await this.#claiming
    await Promise.all(this.#writing)
  }
}

/** Whether there is a slot for what is queued, and this claimant may have it. */
async function hasRoom(
  rows: Reading,
  { limits }: Engine,
  { sessionId }: Claimant,
  { running }: ClaimView,
): Promise<boolean> {
  const isAnyAllowed =
    sessionId === undefined &&
    running.every(({ suspects }) => suspects === 0) &&
    lanes.every((lane) => freeSlots(limits, running, lane) > 0)
  return isAnyAllowed || (await nextRuns(rows, { limits, running, sessionId, max: 1 })).length > 0
}
