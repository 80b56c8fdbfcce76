import type { Ceiling } from '../../domain/access/ceiling.ts'
import type { Label } from '../../domain/label.ts'
import type {
  Lane,
  Outcome,
  ProfileVersion,
  RunError,
  RunKind,
  RunOrigin,
  RunState,
  StepKind,
} from '../../domain/run.ts'
import type { CostState, Spending } from '../../domain/spending.ts'
import type { UnsafeCall } from '../../domain/tools/touched.ts'
import type { TurnModel } from '../../domain/turn.ts'
import type { ListPage, PageOptions } from './page.ts'

/** All of a run. */
export interface RunView extends Omit<RunLine, 'kind' | 'skill' | 'taskId' | 'taskNumber' | 'tellsOf'> {
  kind: 'run'
  runKind: RunKind
  epoch: number
  crashes: number
  tries: number
  effectiveTools: string[]
  /** The most that it and everything below it may have; what is left out is not limited. */
  ceiling: Ceiling
  /** Version of its profile that it took; null without one. */
  profile: ProfileVersion | null
  label: Label
  usage: Spending
  /** Budget of its whole request and the cost so far; `request` has every figure. */
  budget: { usd: number; tokens: number; steps: number; spentUsd: number; spentTokens: number; request: Spending }
  /** Input tokens of the last finished call; null before the first. */
  promptTokens: number | null
  /** Its turn; null until it ends. */
  turnId: string | null
  /** Its result for the run that started it. */
  result?: { id: number; status: Outcome; summary: string }
  error?: RunError
  /** Changed files relative to the session's folder, with the hash it left; null for a removed file. */
  files: { path: string; sha256: string | null; undone: boolean }[]
  /** Calls that cannot be undone, with their observed file changes. */
  commands: UnsafeCall[]
  /** `at` is null for a step without a recorded time. */
  steps: { seq: number; kind: StepKind; name?: string; status?: string; at: string | null }[]
}

/** A run in a list. */
export interface RunLine {
  id: string
  kind: RunKind
  state: RunState
  session: string | null
  folder: string | null
  parentRunId: string | null
  rootRunId: string
  depth: number
  /** Beginning of its inputs. */
  asked: string
  createdAt: string
  finishedAt: string | null
  agent?: string
  /** Why the words of the message chose its agent. */
  routedBy?: string
  /** Name of its agent's file. */
  skill?: string
  taskId?: number
  /** Place of that task in its plan, from 1. */
  taskNumber?: number
  /** The session that it summarises, for a narrator run. */
  tellsOf?: string
  via: RunOrigin
  /** The part of the queue that it waits in. */
  lane: Lane
  model: TurnModel
  /** Current activity: the last step of its journal. */
  doing: string
  /** Time since its last record: a start, a step, a pause, its end. */
  silentForSeconds: number
  ageSeconds: number
  tokens: number
  costUsd: number
  estimatedUsd: number
  lostUsd: number
  waitingFor?: string
}

/** A step of a run with its words; long ones are cut. */
export interface RunStep {
  seq: number
  kind: StepKind
  at: string | null
  /** Of a reply, of steering, of a summary. */
  text?: string
  /** The model that replied. */
  model?: string
  callId?: string
  tool?: string
  input?: unknown
  output?: unknown
  status?: string
}

/** A model call of a run. */
interface RunCall {
  call: number
  model: string
  state: CostState
  inputTokens: number
  outputTokens: number
  costUsd: number
  /** Its beginning. */
  at: string
}

/** What a run did: its steps, and its model calls. */
export interface RunSteps {
  steps: RunStep[]
  calls: RunCall[]
}

/** Which runs to list: unfinished ones or, with `all`, any. Without a limit 50; `after` is the `next` of a page, or the id of a run. */
export interface RunFilter extends PageOptions {
  all?: boolean
  /** Only runs in sessions of this folder; with `requestsOf`, the folder of that session. */
  folder?: string
  /** Only runs of the request that began with this run: a whole id. */
  root?: string
  /** Only runs of requests that were made in the session with this label, those of its agents included. */
  requestsOf?: string
  /** Only runs of this agent, with or without `@`. */
  agent?: string
  /** Only runs that failed or ran out of time; with `all`. */
  failed?: boolean
}

/** Spending by key, those that began last at the end; older ones follow `next`. */
export interface UsageReport extends ListPage<Spending & { key: string }> {
  total: Spending
}

/** Spending of one model on one day (UTC). */
export interface DayUsage extends Spending {
  day: string
  model: string
}

/** Keys by which spending can be grouped. */
export const spendingKeys = ['model', 'session', 'agent', 'run', 'day'] as const
export type SpendingKey = (typeof spendingKeys)[number]

/** A running worker. */
export interface WorkInProgress {
  /** Runs taken over from a dead process. */
  resumed: string[]
  /** Runs of a dead process in sessions that this worker does not serve; they are queued again. */
  queued: string[]
  quarantined: string[]
  /** Number of runs that still belong to a dead process: should be 0. */
  lost: number
  /** Number of those runs' calls with an unknown outcome: they began, have no end, and must not be repeated. */
  unknownCalls: number
  /** Number of those runs' calls that ended more than once. */
  doubledCalls: number
  /** Resolves when the pending narratives of a folder are written, or on abort. */
  whenNarrated(folder: string, signal: AbortSignal): Promise<void>
  /** Cancels pending narratives that took too long. */
  cancelNarration(folder: string): Promise<void>
  /** Releases current runs and resolves when nothing runs here any more. */
  stop(): Promise<void>
}
