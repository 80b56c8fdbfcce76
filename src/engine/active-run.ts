import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { isUntrusted, joinLabels, type Label } from '../domain/label.ts'
import type { Model } from '../domain/model.ts'
import type { Step } from '../domain/run.ts'
import { storable } from '../domain/storable.ts'
import type { CallContext } from '../domain/tool.ts'
import { recordEvent } from '../store/events.ts'
import { findRun, holdRun, noteProgress } from '../store/runs.ts'
import { insertStep, readSteps } from '../store/steps.ts'
import type { Tx } from '../store/store.ts'
import { lastCall } from '../store/usage.ts'
import type { AskedCall } from './asked-call.ts'
import { Chain } from './chain.ts'
import type { Claimant, Claimed } from './claim.ts'
import { type Context, messagesOf, readContext, timeNote } from './context.ts'
import { Journal, signOf, touchedFolder } from './journal.ts'
import { Lanes } from './lanes.ts'
import { withOwnCallIds, withoutCalls } from './model-messages.ts'
import { type Shown, toolSpecs } from './model-request.ts'
import { labelOfReminders, type Reminders, reminderNote, remindersFor } from './reminders.ts'
import { roleOf } from './role.ts'
import type { Engine } from './world.ts'

/** Why a run stops before its work is done. */
export type StopKind = 'cancelled' | 'timeout' | 'drain' | 'fenced'

/** Thrown through everything a run does; the end of the loop decides what it means. */
export class Stop extends Error {
  override readonly name = 'Stop'
  readonly kind: StopKind
  constructor(kind: StopKind, reason: string) {
    super(reason)
    this.kind = kind
  }
}

function fenced(): Stop {
  return new Stop('fenced', 'another process has taken this run over')
}

/** What a run begins with. */
interface Begun {
  journal: Journal
  context: Context
  prompt: string
  reminders: Reminders
  calls: number
}

/** What the process that runs a run tells it. */
export interface HandsOn {
  /** Aborts with a Stop when the run must end here. */
  signal: AbortSignal
  /** Whether the process has been silent for so long, by its own clock, that others may think it dead. */
  isSilent(): boolean
  /** Who may take what the run's end makes; undefined when this process takes nothing more. */
  claimant(): Claimant | undefined
}

/** A claimed run while it runs here: what it has done, how long it took, and the only way to write for it. */
export class ActiveRun {
  readonly engine: Engine
  readonly claimed: Claimed
  readonly journal: Journal
  readonly signal: AbortSignal
  /** Calls of one reply are made side by side; those that change the same file are not. */
  readonly lanes = new Lanes()
  readonly #hands: HandsOn
  /** The same for the whole of a claim, whatever happens to the files it is made of. */
  readonly prompt: string
  readonly reminders: Reminders
  /** What lies before the run; its own steps come after. */
  context: Context
  /** Attempts of the model call that is being made. */
  tries: number
  /** The model call that is being made, or the one whose failure ends the run. */
  asked: AskedCall | undefined
  readonly #since: Millis
  #calls: number
  #reserved: number | undefined

  /** Reads everything the run rests on. */
  static async open(engine: Engine, claimed: Claimed, hands: HandsOn): Promise<ActiveRun> {
    const { steps, calls } = await engine.store.read(async (rows) => ({
      steps: await readSteps(rows, claimed.run.id),
      calls: await lastCall(rows, claimed.run.id),
    }))
    const journal = new Journal(claimed.run.id, steps)
    const context = await readContext(engine, claimed, journal.heard)
    const place = { persona: claimed.persona, folder: claimed.session.folder }
    const prompt = storable(await engine.prompt(claimed.run, place))
    const reminders = await remindersFor(engine, claimed, prompt)
    return new ActiveRun(engine, claimed, { journal, context, prompt, reminders, calls }, hands)
  }

  private constructor(
    engine: Engine,
    claimed: Claimed,
    { journal, context, prompt, reminders, calls }: Begun,
    hands: HandsOn,
  ) {
    this.engine = engine
    this.claimed = claimed
    this.journal = journal
    this.context = context
    this.prompt = prompt
    this.reminders = reminders
    this.signal = hands.signal
    this.#hands = hands
    this.#since = engine.clock.monotonic()
    this.#calls = calls
    this.#reserved = claimed.reserved
    this.tries = claimed.run.tries
  }

  /** Running time, that of earlier claims included. */
  get activeMs(): Millis {
    return Math.round(this.claimed.run.activeMs + this.engine.clock.monotonic() - this.#since)
  }

  get chain(): Chain {
    return new Chain(this.engine, this.claimed.run, this.claimed.persona, this.journal)
  }

  /** An agent's file may go away while its work waits. */
  mustBeSomebody(): void {
    const role = roleOf(this.engine, this.claimed.run, this.claimed.session.folder)
    if (role.kind === 'gone')
      throw new HeddleError(
        'agent_gone',
        `there is no agent "${role.name}" any more`,
        'heddle agents lists those there are: bring it back, or give the work to another',
      )
  }

  /** Who is asked next. */
  get model(): Model {
    return this.chain.at(this.tries)
  }

  /** What the model is shown next: prompt, context, and everything the run has done so far. */
  get shown(): Shown {
    const before = messagesOf(this.context)
    const tools = toolSpecs(this.engine, this.claimed.run)
    const messages = withOwnCallIds([...before, ...this.journal.messages])
    return {
      system: this.prompt,
      messages: tools.length > 0 ? messages : withoutCalls(messages),
      stablePrefix: before.length,
      note: [reminderNote(this.reminders), timeNote(this.engine.clock.now())].filter(Boolean).join('\n'),
      tools,
    }
  }

  get claimant(): Claimant | undefined {
    return this.#hands.claimant()
  }

  /**
   * Of everything the model has seen. Words of strangers stay such, however long ago they came; where trusted ones came
   * from is told of this run only.
   */
  get label(): Label {
    const { claimed, context, journal } = this
    const before = [...context.path, ...context.inputs].map(({ label }) => label)
    const reminded = labelOfReminders(this.reminders)
    return joinLabels([
      claimed.run.label,
      ...(isUntrusted(reminded) ? [reminded] : []),
      ...before.filter(isUntrusted),
      ...journal.labels,
    ])
  }

  /** What a call of this run is given. */
  contextOf(callId: string): CallContext {
    const { engine, claimed, signal } = this
    const { folder } = claimed.session
    const reach = { folder, protect: engine.protect, network: engine.network }
    return { runId: claimed.run.id, callId, signal, label: this.label, ...reach }
  }

  /** The number of the next model call of this run, over all claims. */
  nextCall(): number {
    return ++this.#calls
  }

  /** The call whose cost was set aside with the claim: once. */
  takeReserved(): number | undefined {
    const call = this.#reserved
    this.#reserved = undefined
    return call
  }

  /** Writes for this run, or throws a Stop when it is no longer ours. */
  write<T>(area: 'step' | 'park', body: (tx: Tx) => Promise<T>, first?: (tx: Tx) => Promise<unknown>): Promise<T> {
    return this.engine.store.write(area, async (tx) => {
      await first?.(tx)
      await this.hold(tx)
      return body(tx)
    })
  }

  /**
   * Comes right before anything that happens outside the rows: a process that was asleep or stalled must not ask or do
   * what another may have taken over, and its own clock knows before any row does.
   */
  mayAct(): void {
    this.signal.throwIfAborted()
    if (this.#hands.isSilent()) throw new Stop('drain', 'this process was silent for longer than its lease')
  }

  /** Throws a Stop when the run is no longer ours: for what happens outside the rows without a write before it. */
  async look(): Promise<void> {
    const { runId, ownerId, epoch } = this.claimed.claim
    const run = await this.engine.store.read((rows) => findRun(rows, runId))
    if (run?.ownerId !== ownerId || run.epoch !== epoch) throw fenced()
  }

  /** Every write of a run begins with this. Tells why its end was asked for, if it was. */
  async hold(tx: Tx): Promise<{ cancelReason: string | null }> {
    tx.locking('runs')
    const held = await holdRun(tx, this.claimed.claim, this.activeMs)
    if (!held) throw fenced()
    return held
  }

  /** The work's outcome, or the reason to stop: whatever ignores the signal is left behind, its outcome unheard. */
  until<T>(work: Promise<T>): Promise<T> {
    const { signal } = this
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason)
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
    })
  }

  /** Journals steps together with whatever else the body writes. `first` takes locks that come before the run's. */
  async record(
    steps: Step[],
    body: (tx: Tx) => Promise<void> = async () => undefined,
    first?: (tx: Tx) => Promise<unknown>,
  ): Promise<void> {
    const write = async (tx: Tx) => {
      await noteProgress(tx, this.claimed.run.id)
      await body(tx)
      for (const step of steps) await this.insert(tx, step)
    }
    await this.write('step', write, first)
    this.journal.add(...steps)
    this.tries = 0
    this.asked = undefined
  }

  /** Adds one step in a transaction that already holds the run; `journal.add` it after COMMIT. */
  async insert(tx: Tx, step: Step): Promise<void> {
    step.at = this.engine.clock.now()
    await insertStep(tx, step, touchedFolder(step, this.claimed.session.folder))
    await recordEvent(tx, {
      at: step.at,
      kind: 'run.step',
      subject: `run:${step.runId}`,
      payload: { seq: step.seq, kind: step.kind, ...signOf(step) },
    })
  }
}
