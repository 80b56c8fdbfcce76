import type { Millis } from '../domain/clock.ts'
import type { Run } from '../domain/run.ts'
import type { OwnerLocks } from '../store/owner-locks.ts'
import { beat, claimsOf, insertOwner, removeOwner } from '../store/owners.ts'
import { countQueued, countRunning } from '../store/queue.ts'
import { findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import { type HandsOn, Stop } from './active-run.ts'
import { finishCancels } from './cancel.ts'
import { type Claimant, type Claimed, claimNext } from './claim.ts'
import { runToTheEnd } from './loop.ts'
import { tailNoter } from './note-tails.ts'
import { free, type Recovered, recoverDead, wakeDue } from './recover.ts'
import { type Accepted, type Submission, submit } from './submit.ts'
import type { Engine } from './world.ts'

const sweepEvery: Millis = 1000
const widest = 16
/** The name of a process that may have nothing: nobody is registered under it. */
const nobody = ''
// After this part of its lease without a sign of life a process no longer trusts itself.
const silentPart = 0.8

export interface WorkerOptions {
  locks: OwnerLocks
  pid: number
  /** Runs only what belongs to this session. */
  sessionId?: string
  /** Told of what no run can be told of: a bug in the worker itself, or rows that cannot be reached. */
  onTrouble(error: unknown): void
}

/** A process that claims and runs what is queued, as many at a time as the limits allow. */
export interface Worker {
  /** What was found of owners that had died when this one began. */
  readonly recovered: Recovered
  /** Takes an input in, and begins it in the same commit when nothing stands before it. */
  submit(input: Submission): Promise<Accepted>
  /** Takes no new work, gives back what it has, and resolves when nothing of it runs any more. */
  stop(): Promise<void>
}

export async function startWorker(engine: Engine, options: WorkerOptions): Promise<Worker> {
  const { store } = engine
  const hands = new Hands(engine, options)
  await hands.join()
  const recovered = await recoverDead(engine, hands.ownerId, options.locks)
  const stopped = new AbortController()
  const stopListening = store.onHint((hint) => {
    if (hint === 'runs') hands.fill()
    if (hint === 'cancel') hands.heedCancels()
  })
  const duties = [pulse, sweep, guard].map((duty) => duty(engine, options, hands, stopped.signal))
  hands.fill()
  return {
    recovered,
    submit: (input) => hands.submit(input),
    async stop() {
      stopListening()
      stopped.abort()
      await hands.rest()
      await Promise.all(duties)
      await hands.leave()
    },
  }
}

type Duty = (engine: Engine, options: WorkerOptions, hands: Hands, stopped: AbortSignal) => Promise<void>

/** Signs of life, several a lease however short it is, and whatever else takes its time. */
const pulse: Duty = async ({ clock, limits }, options, hands, stopped) => {
  while (!stopped.aborted) {
    hands.isBeating = true
    await hands.beat().catch(options.onTrouble)
    hands.isBeating = false
    await clock.sleep(Math.min(sweepEvery, limits.leaseMs / 4), stopped)
  }
}

/** Once a second, whatever a lost hint did not tell. The sweep alone makes progress. */
const sweep: Duty = async (engine, options, hands, stopped) => {
  const { clock, limits } = engine
  // One that fails keeps none of the others from their turn.
  const duties = [
    () => hands.giveBackDropped(),
    () => hands.giveBackUnheard(),
    () => recoverDead(engine, hands.ownerId, options.locks),
    () => wakeDue(engine),
    () => finishCancels(engine),
    () => hands.heedCancels(),
    () => hands.fill(),
    tailNoter(engine),
  ]
  while (!stopped.aborted) {
    for (const duty of duties) {
      try {
        await duty()
      } catch (error) {
        options.onTrouble(error)
      }
    }
    await clock.sleep(Math.min(sweepEvery, limits.leaseMs / 4), stopped)
  }
}

/**
 * Our own clock decides first: when the rows do not answer for so long that others may think us dead, whatever runs here
 * stops at once, with nothing written. After a mere pause of the process the next beat gives back in good order.
 */
const guard: Duty = async ({ clock, limits }, _options, hands, stopped) => {
  const most = limits.leaseMs * silentPart
  while (!stopped.aborted) {
    const left = hands.lastBeat + most - clock.monotonic()
    if (left <= 0 && hands.isBeating) hands.dropAll()
    await clock.sleep(left > 0 ? left : most, stopped)
  }
}

/** The runs that this process has in hand, and the name under which it has them. */
class Hands {
  ownerId = nobody
  /** When we last showed that we live, by our own clock. */
  lastBeat: Millis = 0
  /** While the rows are told that we live, which they may never answer. */
  isBeating = false
  #release: () => void = () => undefined
  readonly #engine: Engine
  readonly #options: WorkerOptions
  /** By claim: a run may be back before the end of its last claim is heard. */
  readonly #busy = new Map<string, { runId: string; stop: AbortController; done: Promise<void> }>()
  readonly #dropped: (Claimed & { begun: boolean })[] = []
  /** Claims of ours that nobody here knows of, as of the last look, and those that were given back. */
  #unheard = new Set<string>()
  readonly #givenBack = new Set<string>()
  readonly #submitting = new Set<Promise<void>>()
  #claiming: Promise<void> | undefined
  #beating: Promise<void> | undefined
  #again = false
  #hasDropped = false
  #resting = false

  constructor(engine: Engine, options: WorkerOptions) {
    this.#engine = engine
    this.#options = options
  }

  /** Becomes an owner: a new one each time, so that nobody ever takes over runs of its own name. */
  async join(): Promise<void> {
    const { store, clock, newId } = this.#engine
    this.ownerId = newId()
    this.#release = this.#options.locks.hold(this.ownerId)
    const at = clock.monotonic()
    await store.write('owner', (tx) =>
      insertOwner(tx, { id: this.ownerId, pid: this.#options.pid, startedAt: clock.now(), beatAt: at }),
    )
    this.lastBeat = at
    this.#hasDropped = false
  }

  /** Shows that we live. Whoever was silent for too long, or was declared dead, begins anew under another name. */
  beat(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = undefined
    })
    return this.#beating
  }

  async #beatOnce(): Promise<void> {
    const { store, clock } = this.#engine
    const at = clock.monotonic()
    if (this.#hasDropped || this.isSilent || !(await store.write('owner', (tx) => beat(tx, this.ownerId, at))))
      return this.rejoin()
    this.lastBeat = at
  }

  /** Others may think us dead, or soon will. */
  get isSilent(): boolean {
    const { clock, limits } = this.#engine
    return clock.monotonic() - this.lastBeat > limits.leaseMs * silentPart
  }

  /** Stops everything without a word: what it wrote could be refused, and others may have it already. */
  dropAll(): void {
    // What was dropped is still ours by name: under the next name it is nobody's, and found.
    this.#hasDropped = true
    for (const { stop } of this.#busy.values())
      stop.abort(new Stop('fenced', 'this process could not show that it lives'))
  }

  /** Gives everything up under this name; whatever of it comes to light later is not begun any more. */
  async leave(): Promise<void> {
    const { ownerId } = this
    this.ownerId = nobody
    await this.#stopAll('this process was silent for longer than its lease')
    // The sign of life goes first: whoever dies between the two leaves a name without one, which is cleared away.
    this.#release()
    await this.#engine.store.write('owner', (tx) => removeOwner(tx, ownerId))
  }

  /** Gives everything back after a silence: what others have taken over meanwhile is theirs, and fenced from us. */
  async rejoin(): Promise<void> {
    await this.leave()
    await this.join()
  }

  /** Claims until there is nothing to claim. Asked for while it claims, it looks once more. */
  fill(): void {
    this.#again = true
    if (this.#resting || this.#claiming) return
    this.#claiming = this.#claimAll()
      .catch((error) => this.#options.onTrouble(error))
      .finally(() => {
        this.#claiming = undefined
        if (this.#again && !this.#resting) this.fill()
      })
  }

  async submit(input: Submission): Promise<Accepted> {
    if (this.#resting || this.isSilent) return submit(this.#engine, input)
    const submitting = submit(this.#engine, input, { engine: this.#engine, claimant: this.#claimant })
    const begun = submitting.then(({ claimed }) => claimed && this.#begin(claimed)).catch(() => undefined)
    this.#submitting.add(begun)
    void begun.finally(() => this.#submitting.delete(begun))
    return submitting
  }

  get #claimant(): Claimant {
    const { sessionId } = this.#options
    return { ownerId: this.ownerId, ...(sessionId !== undefined && { sessionId }) }
  }

  /** Looks whether somebody asked for one of ours to be cancelled. */
  heedCancels(): void {
    for (const { runId, stop } of this.#busy.values()) {
      this.#engine.store
        .read((rows) => findRun(rows, runId))
        .then((run) => {
          if (run?.cancelReason != null) stop.abort(new Stop('cancelled', run.cancelReason))
        })
        .catch((error) => this.#options.onTrouble(error))
    }
  }

  /** A run whose end could not be written, or that was never begun, is ours by name until we give it back. */
  async giveBackDropped(): Promise<void> {
    for (let next = this.#dropped[0]; next; next = this.#dropped[0]) {
      await free(this.#engine, next.run, next.claim.ownerId, next)
      this.#dropped.shift()
    }
  }

  /**
   * A claim whose answer was lost on the way from the rows is ours for them, and nobody runs it. Whatever is so at two
   * looks in a row is given back; should its answer come after all, it is not begun.
   */
  async giveBackUnheard(): Promise<void> {
    const { store } = this.#engine
    const { ownerId } = this
    const ours = await store.read((rows) => claimsOf(rows, ownerId))
    const unheard = ours.filter(
      (run) => !this.#busy.has(claimKey(run)) && !this.#dropped.some((each) => each.run.id === run.id),
    )
    const still = unheard.filter((run) => this.#unheard.has(claimKey(run)))
    this.#unheard = new Set(unheard.map(claimKey))
    for (const claim of still) {
      this.#givenBack.add(claimKey(claim))
      const run = await store.read((rows) => findRun(rows, claim.id))
      // Its answer may come while we give it back.
      if (run) await free(this.#engine, run, ownerId, { begun: false, mayHaveAsked: true })
    }
  }

  /** Takes no new work, gives back what it has, and resolves when it has stopped. */
  async rest(): Promise<void> {
    this.#resting = true
    await this.#claiming
    await Promise.all(this.#submitting)
    await this.#stopAll('the process is stopping')
  }

  async #stopAll(reason: string): Promise<void> {
    // A run that ends meanwhile may have begun the next one.
    while (this.#busy.size > 0) {
      const busy = [...this.#busy.values()]
      for (const { stop } of busy) stop.abort(new Stop('drain', reason))
      await Promise.all(busy.map(({ done }) => done))
    }
  }

  async #claimAll(): Promise<void> {
    while (this.#again && !this.#resting) {
      this.#again = false
      // What is claimed under a name that others may bury would have to be given back at once.
      if (this.isSilent) await this.beat()
      for (let found = true; found && !this.#resting; ) {
        const width = await this.#engine.store.read((rows) => worthClaiming(rows, this.#engine))
        if (width === 0) break
        const wave = Array.from({ length: width }, () => claimNext(this.#engine, this.#claimant))
        const outcomes = await Promise.allSettled(wave)
        // One that fails keeps none of the others from being begun: they are ours already.
        const claimed = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? (outcome.value ?? []) : []))
        for (const each of claimed) this.#begin(each)
        const failed = outcomes.find((outcome) => outcome.status === 'rejected')
        if (failed) throw failed.reason
        found = claimed.length === width
      }
    }
  }

  #begin(claimed: Claimed): void {
    const key = claimKey(claimed.run)
    if (this.#givenBack.delete(key)) return
    // Claimed under a name that was given up meanwhile.
    if (claimed.claim.ownerId !== this.ownerId) return void this.#dropped.push({ ...claimed, begun: false })
    const stop = new AbortController()
    const over = new AbortController()
    // Asked for while an earlier owner had it.
    if (claimed.run.cancelReason !== null) stop.abort(new Stop('cancelled', claimed.run.cancelReason))
    this.#watchTime(claimed, stop, over.signal)
    const hands: HandsOn = {
      signal: stop.signal,
      isSilent: () => this.isSilent,
      claimant: () => (this.#resting || this.isSilent ? undefined : this.#claimant),
    }
    const done = runToTheEnd(this.#engine, claimed, hands)
      .then((next) => next && this.#begin(next))
      .catch((error) => {
        this.#dropped.push({ ...claimed, begun: true })
        this.#options.onTrouble(error)
      })
      .finally(() => {
        over.abort()
        this.#busy.delete(key)
        this.fill()
      })
    this.#busy.set(key, { runId: claimed.run.id, stop, done })
  }

  /** The runtime owns the clock: whatever a model or a tool does, the run ends. */
  #watchTime({ run }: Claimed, stop: AbortController, over: AbortSignal): void {
    const { clock, limits } = this.#engine
    const limit = run.timeoutMs ?? limits.timeoutMs
    const expire = (left: Millis, reason: string) =>
      clock.sleep(Math.max(0, left), over).then(() => {
        if (!over.aborted) stop.abort(new Stop('timeout', reason))
      })
    void expire(limit - run.activeMs, `it ran for ${Math.round(limit / 1000)} s, its limit`)
    if (run.deadline !== null) void expire(run.deadline - clock.now(), 'its deadline passed')
  }
}

/**
 * How many claims are made side by side, so that they share a commit: as many as there is work and room for. A look
 * that costs no lock and may be out of date: the claims themselves keep to the limits.
 */
async function worthClaiming(rows: Reading, { limits }: Engine): Promise<number> {
  const queued = await countQueued(rows, widest)
  if (queued === 0) return 0
  const { running, children } = await countRunning(rows)
  const room = limits.maxRunning - running
  // Where children have no room, there may be a run that is nobody's child.
  return room <= 0 ? 0 : Math.max(1, Math.min(queued, room, limits.maxChildren - children))
}

function claimKey({ id, epoch }: Pick<Run, 'id' | 'epoch'>): string {
  return `${id}/${epoch}`
}
