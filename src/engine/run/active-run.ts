import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { isUntrusted, joinLabels, type Label } from '../../domain/label.ts'
import type { Model } from '../../domain/model.ts'
import type { ModelSettings } from '../../domain/persona.ts'
import type { Run, Step } from '../../domain/run.ts'
import { type CallSum, callSum, spendingOf } from '../../domain/spending.ts'
import { toStorable } from '../../domain/text/storable.ts'
import type { CallContext } from '../../domain/tools/tool.ts'
import type { Thread, Usage } from '../../domain/turn.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { parkClaim } from '../../store/rows/released-runs.ts'
import { advanceCaller, advanceRun, type FinishedClaim, fenceRun, finishClaim, isOwned } from '../../store/rows/runs.ts'
import { clearTouchedFolder, insertSteps } from '../../store/rows/steps.ts'
import type { Tx } from '../../store/store.ts'
import { windowOf } from '../model/choose-model.ts'
import type { InFlightCall } from '../model/in-flight-call.ts'
import { withoutCalls, withUniqueCallIds } from '../model/model-messages.ts'
import { type ModelInput, settingsFor } from '../model/model-request.ts'
import type { Engine } from '../runtime.ts'
import { Chain } from './chain.ts'
import type { Claimant, ClaimedRun, WorkerHandle } from './claimed-run.ts'
import { type Context, contextMessages, readContext, timeNote } from './context/context.ts'
import { Journal, stepEventFields } from './context/journal.ts'
import type { PathTurn } from './context/path-turn.ts'
import { readProgress } from './context/progress.ts'
import { surveyedBegins, touchedFolder } from './context/touched-folder.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { RunHandle, RunNotes } from './moments.ts'

/** Why a run stops early. */
type StopKind = 'cancelled' | 'timeout' | 'drain' | 'fenced'

/** Aborts a run; the end of the loop decides what it means. */
export class Stop extends Error {
  override readonly name = 'Stop'
  readonly kind: StopKind
  constructor(kind: StopKind, reason: string) {
    super(reason)
    this.kind = kind
  }
}

function fenced(): Stop {
  return new Stop('fenced', 'another process has taken over this run')
}

/** State that a run starts from. */
interface RunStart {
  journal: Journal
  context: Context
  prompt: string
  notes: RunNotes
  calls: number
  /** Costs of the calls of earlier claims. */
  costs: CallSum[]
}

/** A claimed run while it executes here: its journal, its time, and the only way to write for it. */
export class ActiveRun implements RunHandle<Engine> {
  readonly engine: Engine
  readonly claimed: ClaimedRun
  readonly journal: Journal
  readonly signal: AbortSignal
  /** Calls run concurrently, except those that change the same file. */
  readonly fileQueue: KeyedQueue
  readonly #pool: WorkerHandle
  /** System prompt; fixed for the whole claim even if its source files change. */
  readonly prompt: string
  readonly notes: RunNotes
  #context: Context
  #head: Thread | undefined
  /** Failed attempts of the current model call. */
  tries: number
  #modelCall: InFlightCall | undefined
  /** Settings of the last model call for a reply; undefined before the first of this claim. */
  sent: ModelSettings | undefined
  readonly #since: Millis
  #calls: number
  #reserved: number | undefined
  #lastMade: number
  readonly #costs: CallSum[] = []
  /** The last call of earlier claims, and the costs of all of them. */
  readonly #callsBefore: number
  readonly #costsBefore: readonly CallSum[]
  /** Whether an earlier claim left a reservation. */
  readonly #mayHaveLeft: boolean
  /** The end of the last call, journalled here and not yet stored. */
  #held: Step | undefined
  #areNotesStored = false

  /** Reads journal, context, prompt and notes. */
  static async open(engine: Engine, claimed: ClaimedRun, pool: WorkerHandle): Promise<ActiveRun> {
    const { steps, calls, costs } = await readProgress(engine, claimed)
    const journal = new Journal(claimed.run.id, steps)
    const context = await readContext(engine, claimed, journal.steeredItemIds)
    const prompt = toStorable(await engine.prompt(claimed))
    const label = labelOfRun(claimed, context, journal)
    const notes = await engine.moments.onStart(engine, claimed, prompt, label)
    return new ActiveRun(engine, claimed, { journal, context, prompt, notes, calls, costs }, pool)
  }

  private constructor(
    engine: Engine,
    claimed: ClaimedRun,
    { journal, context, prompt, notes, calls, costs }: RunStart,
    pool: WorkerHandle,
  ) {
    this.engine = engine
    this.claimed = claimed
    this.journal = journal
    this.#context = context
    this.#head = claimed.head
    this.prompt = prompt
    this.notes = notes
    this.signal = pool.signal
    this.fileQueue = pool.fileQueue ?? new KeyedQueue()
    this.#pool = pool
    this.#since = engine.clock.monotonic()
    this.#calls = calls
    this.#callsBefore = claimed.run.epoch === 1 ? 0 : calls
    this.#lastMade = this.#callsBefore
    this.#costsBefore = costs
    this.#mayHaveLeft = costs.some(({ state }) => state === 'reserved')
    this.#reserved = claimed.reserved
    this.tries = claimed.run.tries
  }

  /** Conversation before this run; the run's own steps are in the journal. */
  get context(): Context {
    return this.#context
  }

  /** The thread at its session's head, and the turn there if the model was shown it. */
  get head(): { thread: Thread; turn: PathTurn | undefined } | undefined {
    const thread = this.#head
    return thread && { thread, turn: this.#context.path.findLast(({ depth }) => depth === thread.depth) }
  }

  /** A turn that the run itself wrote is the head now. */
  moveTo(head: Thread, context: Context): void {
    this.#head = head
    this.#context = context
  }

  /** Running time, that of earlier claims included. */
  get activeMs(): Millis {
    return Math.round(this.claimed.run.activeMs + this.engine.clock.monotonic() - this.#since)
  }

  get chain(): Chain {
    return new Chain(this.engine, this.claimed.actor.model, this.journal)
  }

  /** Throws if the run's agent or its profile is gone. */
  assertAgentExists(): void {
    const { role } = this.claimed.actor
    if (role.kind === 'gone') throw new HeddleError(role.error.code, role.error.message, role.error.remedy)
  }

  /** The model to ask next. */
  get model(): Model {
    return this.chain.at(this.tries)
  }

  /** Max tokens of its next request and the reply together. */
  get window(): number {
    return windowOf(this.model, this.claimed.actor.model)
  }

  /** How it shall reply. */
  get settings(): ModelSettings {
    return settingsFor(this.claimed.run, this.claimed.actor, this.model)
  }

  /** Input of the next model call: prompt, context, and everything the run has done so far. */
  get modelInput(): ModelInput {
    const before = contextMessages(this.context)
    const { tools } = this.claimed.actor
    const messages = withUniqueCallIds([...before, ...this.journal.messages])
    return {
      system: this.prompt,
      messages: tools.length > 0 ? messages : withoutCalls(messages),
      stablePrefix: before.length,
      note: [this.notes.text, timeNote(this.engine.clock.now())].filter(Boolean).join('\n'),
      tools,
    }
  }

  get claimant(): Claimant | undefined {
    return this.#pool.claimant()
  }

  /** Executes a child that was claimed in the commit that started it. */
  start(child: ClaimedRun): void {
    this.#pool.start(child)
  }

  /**
   * Label of everything the model has seen. Untrusted content taints it however old it is; sources of trusted content
   * are listed for this run only.
   */
  get label(): Label {
    const { claimed, context, journal, notes } = this
    return joinLabels([labelOfRun(claimed, context, journal), ...(isUntrusted(notes.label) ? [notes.label] : [])])
  }

  /** Context passed to a tool call. */
  contextOf(callId: string): CallContext {
    const { engine, claimed, signal } = this
    const { folder } = claimed.session
    const { sandbox, credentials } = claimed.actor.ceiling
    const reach = { folder, protect: engine.protect, network: engine.network }
    const limits = { ...(sandbox && { sandbox }), ...(credentials && { credentials }) }
    return { runId: claimed.run.id, callId, signal, label: this.label, ...reach, ...limits }
  }

  /** The model call under way, or the one whose failure ends the run. */
  get modelCall(): InFlightCall | undefined {
    return this.#modelCall
  }

  set modelCall(made: InFlightCall | undefined) {
    this.#modelCall = made
    if (made) this.#lastMade = made.call
  }

  /** Whether a call may be reserved that was not made. */
  get mayHaveReserved(): boolean {
    return this.#mayHaveLeft || this.#lastMade < this.#calls
  }

  /** The number of the next model call of this run, over all claims; its budget is reserved next. */
  nextCall(): number {
    return ++this.#calls
  }

  /** Takes the call that was reserved with the claim; undefined from the second time on. */
  takeReserved(): number | undefined {
    const call = this.#reserved
    this.#reserved = undefined
    return call
  }

  /** Notes what a call cost whose reply is journalled. */
  noteCost(cost: Usage): void {
    this.#costs.push(callSum(cost))
  }

  /** Cost of the run, if it is known for each of its calls; else it is read. */
  get costSoFar(): Usage | undefined {
    const last = this.modelCall?.cost
    const costs = last ? [...this.#costs, callSum(last)] : this.#costs
    const isKnown = costs.length === this.#calls - this.#callsBefore && !this.#mayHaveLeft
    return isKnown ? spendingOf([...this.#costsBefore, ...costs]) : undefined
  }

  /** Writes on behalf of this run; throws a Stop if another worker owns it now. */
  write<T>(area: 'step' | 'park', body: (tx: Tx) => Promise<T>): Promise<T> {
    return this.commit(area, async (tx) => {
      await this.fence(tx)
      return body(tx)
    })
  }

  /** Runs a body that checks owner and epoch itself, with `fence` or `finish`, which also store what is held. */
  async commit<T>(area: 'step' | 'park' | 'compact' | 'settle', body: (tx: Tx) => Promise<T>): Promise<T> {
    const held = this.#held
    const value = await this.engine.store.write(area, body)
    if (this.#held === held) this.#held = undefined
    return value
  }

  /** Writes what parks the run. One whose cancel was requested must end instead: nothing would wake it. */
  park(body: (tx: Tx) => Promise<boolean>): Promise<boolean> {
    return this.commit('park', async (tx) => {
      const { cancelReason } = await this.fence(tx)
      if (cancelReason !== null) throw new Stop('cancelled', cancelReason)
      return body(tx)
    })
  }

  /**
   * Must come right before every effect outside the database: after a stall another worker may own the run, and this
   * process's clock shows it before any row does.
   */
  assertLease(): void {
    this.signal.throwIfAborted()
    if (this.#pool.leaseAtRisk()) throw new Stop('drain', 'this process was silent for longer than its lease')
  }

  /** Throws a Stop if another worker owns the run: for effects outside the database without a write before them. */
  async assertOwned(): Promise<void> {
    if (!(await this.engine.store.read((rows) => isOwned(rows, this.claimed.claim)))) throw fenced()
  }

  /** Ends the run's row, which checks owner and epoch, too. */
  async finish(tx: Tx, end: Parameters<typeof finishClaim>[2]): Promise<FinishedClaim> {
    tx.locking('runs')
    const finished = await finishClaim(tx, this.claimed.claim, end)
    if (!finished) throw fenced()
    if (this.#held) this.insert(tx, [this.#held])
    return finished
  }

  /** Checks owner and epoch; every write of a run begins with this. Returns the reason if a cancel was requested. */
  async fence(tx: Tx, check = fenceRun): Promise<{ cancelReason: string | null }> {
    tx.locking('runs')
    const owned = await (this.#held ? advanceRun : check)(tx, this.claimed.claim, this.activeMs)
    if (!owned) throw fenced()
    if (this.#held) this.insert(tx, [this.#held])
    return owned
  }

  /** Checks owner and epoch, and parks the run until the user answers. Undefined if that must not be; nothing is changed then. */
  tryPark(tx: Tx): ReturnType<typeof parkClaim> {
    tx.locking('runs')
    return parkClaim(tx, this.claimed.claim, this.activeMs)
  }

  /** The same as `fence` for a run that makes progress; returns the run as it is stored now. */
  async fenceCaller(tx: Tx): Promise<Run> {
    tx.locking('runs')
    const run = await advanceCaller(tx, this.claimed.claim, this.activeMs)
    if (!run) throw fenced()
    return run
  }

  /** Resolves with the work's outcome or rejects with the stop reason; work that ignores the signal is abandoned. */
  abortable<T>(work: Promise<T>): Promise<T> {
    const { signal } = this
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason)
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
    })
  }

  /** Journals steps together with whatever else the body writes. */
  async record(steps: Step[], body?: (tx: Tx) => Promise<void>): Promise<void> {
    await this.commit('step', async (tx) => {
      await this.fence(tx, advanceRun)
      await body?.(tx)
      if (steps.some(isReply)) await this.recordNotes(tx)
      this.insert(tx, steps)
    })
    this.addSteps(steps)
  }

  /**
   * Stores which notes the model was shown, with the first reply of this claim: a later claim may be shown others, and what it
   * said by these stays in the journal.
   */
  async recordNotes(tx: Tx): Promise<void> {
    if (!this.#areNotesStored) await this.notes.record(tx, this.claimed.run.id, this.engine.clock.now())
  }

  /**
   * Journals the end of a reply's last call, a pure one. It is stored with what follows it at once: the reservation of the next
   * model call, or the end of the run. A crash before that leaves the call open, and it is made again.
   */
  hold(step: Step): void {
    this.#held = step
    this.addSteps([step])
  }

  /** Notes that steps are stored, or held. */
  addSteps(steps: readonly Step[]): void {
    this.journal.add(...steps)
    if (steps.some(isReply)) this.#areNotesStored = true
    this.tries = 0
    this.modelCall = undefined
  }

  /** Inserts steps in a transaction that already holds the run; call `journal.add` after COMMIT. */
  insert(tx: Tx, steps: readonly Step[]): void {
    const { run, session } = this.claimed
    const at = this.engine.clock.now()
    for (const step of steps) step.at = at
    insertSteps(
      tx,
      steps.map((step) => ({ ...step, touchedFolder: touchedFolder(step, session.folder) })),
    )
    for (const seq of surveyedBegins([...this.journal.steps, ...steps], steps)) clearTouchedFolder(tx, run.id, seq)
    const told = steps.map((step) => ({ seq: step.seq, kind: step.kind, ...stepEventFields(step) }))
    const payload = { steps: told }
    if (told.length > 0) recordEvent(tx, { at, kind: 'run.step', subject: `run:${run.id}`, payload, scope: run })
  }
}

function isReply({ kind }: Step): boolean {
  return kind === 'reply'
}

/** Label of a run's conversation and of what it has done. */
function labelOfRun({ run }: ClaimedRun, { path, inputs }: Context, { labels }: Journal): Label {
  const before = [...path, ...inputs].map(({ label }) => label)
  return joinLabels([run.label, ...before.filter(isUntrusted), ...labels])
}
