import type { Artifact } from '../../domain/artifact.ts'
import type { Millis } from '../../domain/clock.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import type { Label } from '../../domain/label.ts'
import type { Ending, Outcome, Run, RunError, Step } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { ChangeFile, ToolOutcome } from '../../domain/tools/tool.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { ReadyCall } from '../../tools/call.ts'
import type { ReceivedReply } from '../model/accept-reply.ts'
import type { ClaimedRun } from './claimed-run.ts'
import type { Journal } from './context/journal.ts'
import type { KeyedQueue } from './keyed-queue.ts'

/**
 * Hooks for other parts of the engine: plans, knowledge, files. `app/moments.ts` registers them, so that this folder
 * imports none of those parts. A hook that gets a transaction may run again, since the transaction may be retried.
 */
export interface RunMoments<Engine> {
  /**
   * Runs when a claim starts. Returns notes for the model, fixed for the whole claim. `label` is that of everything which
   * the model is shown besides.
   */
  onStart(engine: Engine, claimed: ClaimedRun, prompt: string, label: Label): Promise<RunNotes>
  /** Runs before a tool call. Returns the function through which the call changes files. */
  changeFiles(run: RunHandle<Engine>, callId: string): ChangeFile
  /** Runs right before a call that is not transactional. Returns what labels its outcome by the files it shows. */
  watchFiles(
    run: RunHandle<Engine>,
    call: Pick<ReadyCall, 'tool' | 'call'>,
  ): Promise<(outcome: ToolOutcome) => Promise<LabelledOutcome>>
  /** Runs on a reply without tool calls. Returns true if the run must continue instead of ending. */
  beforeAnswer(run: RunHandle<Engine>, reply: ReceivedReply): Promise<boolean>
  /** Runs before the settling transaction, which must not read files. Returns the written files, and the ending with remarks. */
  beforeSettle(run: RunHandle<Engine>, ending: Ending): Promise<{ ending: Ending; written: WrittenFiles }>
  /** Runs in the settling transaction, after the turn was written and its inputs were consumed. */
  inSettle(end: RunEnd<Engine>): Promise<void>
  /**
   * Runs last in the settling transaction, since it may lock jobs, which come after runs: the result is delivered, and the
   * next run is queued or claimed.
   */
  afterSettle(end: RunEnd<Engine>): Promise<void>
  /** Files of a run, by the rows alone: for a run that is ended by a process that does not execute it. */
  filesOf(rows: Reading, run: Run): Promise<Artifact[]>
  /** Runs in the transaction that ends a child, after its result was stored and before it is delivered. */
  onResult(end: ChildEnd<Engine>, resultId: number): Promise<ResultEffects>
  /** Runs when a whole request is cancelled: before its runs are cancelled, and again after. */
  onCancelRequest(engine: Engine, rootRunId: string, reason: string): Promise<void>
  /** Outcome of a request whose last turn completed. */
  outcomeOf(rows: Reading, rootRunId: string): Promise<RequestOutcome>
}

/** Outcome of a request as its plans tell it; without `status` it is that of its last turn. */
export interface RequestOutcome {
  status?: Outcome
  error?: RunError
  /** Plans that were proposed and never started. */
  unstartedPlans?: number[]
}

/** Notes shown to the model after the conversation. */
export interface RunNotes {
  text: string | undefined
  label: Label
  /** Stores which notes the run was shown, with its first reply that is journalled or with its end. */
  record(tx: Tx, runId: string, now: Millis): Promise<void>
}

/** Outcome of a call with the label of what it shows, and what must be stored with it. */
export interface LabelledOutcome {
  outcome: ToolOutcome
  record?(tx: Tx): Promise<void>
}

/** An executing run, as far as hooks need it. */
export interface RunHandle<Engine> {
  readonly engine: Engine
  readonly claimed: ClaimedRun
  readonly journal: Journal
  /** Label of everything the model has seen. */
  readonly label: Label
  /** Serialises calls that change the same file. */
  readonly fileQueue: KeyedQueue
  write<T>(area: 'step' | 'park', body: (tx: Tx) => Promise<T>): Promise<T>
  record(steps: Step[], body?: (tx: Tx) => Promise<void>): Promise<void>
  assertLease(): void
}

/** Files that a run wrote, as they are on the disk at its end, and remarks about them for the requester. */
export interface WrittenFiles {
  artifacts: Artifact[]
  remarks: string[]
}

/** A run that ends in this transaction. */
export interface RunEnd<Engine> {
  tx: Tx
  engine: Engine
  run: Run
  session: Session
  /** The session that receives the result; locked. */
  requester: Session | undefined
  ending: Ending
  /** Inputs that the run answered. */
  items: InboxItem[]
  /** Whether its request answers a fire of a job that is not over; undefined if that is unknown. */
  hasOpenFire?: boolean
  /** Label of the run's turn: of its inputs and everything the run has seen. */
  turnLabel: Label
  now: Millis
}

/** The end of a run that works for another session. */
export interface ChildEnd<Engine> extends Pick<RunEnd<Engine>, 'tx' | 'engine' | 'run' | 'ending' | 'items' | 'now'> {
  requester: Session
}

/** Effects of a child's result on the requester's session. */
export interface ResultEffects {
  /** Name of the work for the requester; by default its run. */
  name?: string
  /** Whether the result wakes the requester by itself; by default when the parent run has ended. */
  wakes?: boolean
  /** Sentence that wakes the requester. */
  news?: string | undefined
  /** Remarks after the result line. */
  remarks: string[]
  /** Runs that this result started. */
  started: QueuedRun[]
}

/** A run that a transaction has queued, and its session. */
export interface QueuedRun {
  run: Run
  session: Session
}
