import type { Ceiling } from './access/ceiling.ts'
import type { Millis } from './clock.ts'
import type { Label } from './label.ts'
import type { RunOptions } from './run-options.ts'
import type { Subagent } from './subagent.ts'

export const runKinds = ['turn', 'task', 'spawn', 'delegate', 'cron', 'import'] as const
export type RunKind = (typeof runKinds)[number]

/** Origin of a run. Not yet produced: 'webhook', 'channel'. */
export const runOrigins = [
  'user',
  'spawn_agent',
  'sessions_spawn',
  'delegate',
  'cron',
  'webhook',
  'channel',
  'retry',
  'narrator',
  'import',
] as const
export type RunOrigin = (typeof runOrigins)[number]

/** Lanes of the queue. Each has a limit of its own, so that work of one kind does not keep another from running. */
export const lanes = ['main', 'agents', 'subagents', 'cron', 'background'] as const
export type Lane = (typeof lanes)[number]

/** The lane of a new run. A run that continues another one stays in its lane. */
const laneOf: Record<RunOrigin, Lane> = {
  user: 'main',
  webhook: 'main',
  channel: 'main',
  retry: 'main',
  import: 'main',
  spawn_agent: 'agents',
  delegate: 'agents',
  sessions_spawn: 'subagents',
  cron: 'cron',
  narrator: 'background',
}

export const runStates = ['queued', 'running', 'waiting', 'completed', 'failed', 'timeout', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

/** Terminal state of a run, and of its turn. */
export const outcomes = ['completed', 'failed', 'timeout', 'cancelled'] as const satisfies readonly RunState[]
export type Outcome = (typeof outcomes)[number]

/** Every legal state change of a run: statements that change the state require one of the states before it. */
export const runMoves: Record<RunState, readonly RunState[]> = {
  queued: ['running', 'cancelled', 'failed', 'timeout'],
  running: ['completed', 'failed', 'timeout', 'cancelled', 'waiting', 'queued'],
  waiting: ['queued', 'running', 'waiting', 'cancelled', 'failed', 'timeout'],
  completed: [],
  failed: [],
  timeout: [],
  cancelled: [],
}

/** States from which a run may move into this one. */
export function statesBefore(next: RunState): RunState[] {
  return runStates.filter((state) => runMoves[state].includes(next))
}

export function isTerminal(state: RunState): state is Outcome {
  return runMoves[state].length === 0
}

export const stepKinds = ['reply', 'begun', 'ended', 'steer', 'compact'] as const
/**
 * A journalled event inside a run: a model's reply, a tool call begun or ended, steering input, a summary that replaces
 * all steps before it.
 */
export type StepKind = (typeof stepKinds)[number]

/** Reasons for parking a run. Not yet produced: 'question', 'delegate'. */
const waits = ['retry', 'budget', 'approval', 'question', 'delegate'] as const
export type Wait = (typeof waits)[number]

/** Why a run did not complete; shown to users and to the model in its next turn. */
export interface RunError {
  code: string
  message: string
  remedy: string
}

/** Display word for an outcome. */
export const outcomeWord = {
  completed: 'Completed',
  failed: 'Failed',
  timeout: 'Timed out',
  cancelled: 'Cancelled',
} as const satisfies Record<Outcome, string>

/** Outcome of a run and the text of its turn. */
export interface Ending {
  state: Outcome
  text: string
  error: RunError | null
  /** Partial answer from before a failure or cancellation; part of `text`. */
  said?: string
}

/** One durable stretch of work that leaves exactly one turn. */
export interface Run {
  id: string
  kind: RunKind
  via: RunOrigin
  lane: Lane
  state: RunState
  sessionId: string | null
  /** The request: the run that a user's or trigger's input started. */
  rootRunId: string
  parentRunId: string | null
  /** Number of ancestors. */
  depth: number
  /** The parent's tool call that started it. */
  toolCallId: string | null
  /** The session that is notified of its end; null for a run that a user or trigger started. */
  requesterSessionId: string | null
  agent: string | null
  modelRequested: string | null
  /** As it was asked for; its agent and model are resolved at the first claim. A run that continues it has the same. */
  options: RunOptions
  /** When the request was made: children keep their root's place in the queue. */
  requestedAt: Millis
  createdAt: Millis
  finishedAt: Millis | null
  /** The owning process, and the number of this claim (fencing token): every write of a run checks both. */
  workerId: string | null
  epoch: number
  /** Number of owners that died while running it, without a committed step in between. */
  crashes: number
  /** Those that count towards quarantine: it ran alone and was not waiting for a model. */
  crashesAlone: number
  /** Attempts of the current model call. */
  tries: number
  /** Running time so far; queueing and waiting do not count. */
  activeMs: Millis
  waitingFor: Wait | null
  /** Earliest time at which it may be claimed. */
  wakeAt: Millis | null
  cancelReason: string | null
  /** Its tools; all others do not exist for it. Narrowed at each claim. */
  effectiveTools: string[]
  /** The most that it and everything below it may have. Narrowed at each claim. */
  ceiling: Ceiling
  label: Label
  error: RunError | null
  /** The plan task that it works on. */
  taskId: number | null
  /** Text form of the principal on whose behalf it runs: its root's, and that of all its inputs. */
  principal: string
  /** Null unless `sessions_spawn` started it. */
  subagent: Subagent | null
  /** Id and version of its profile, from its first claim on; null without one. */
  profile: ProfileVersion | null
  /** Why its last claim chose another model than the one that was asked for. */
  modelClamp: ModelClamp | null
}

/** The model that was asked for, and why another one answers. */
export interface ModelClamp {
  from: string
  why: string
}

/** A profile as it was when a run took it. */
export interface ProfileVersion {
  id: string
  version: number
}

/** A new queued run without a parent: its own request. */
export function newRun(begin: {
  id: string
  kind: RunKind
  via: RunOrigin
  sessionId: string | null
  now: Millis
  principal: string
}): Run {
  return {
    id: begin.id,
    kind: begin.kind,
    via: begin.via,
    lane: laneOf[begin.via],
    state: 'queued',
    sessionId: begin.sessionId,
    rootRunId: begin.id,
    parentRunId: null,
    depth: 0,
    toolCallId: null,
    requesterSessionId: null,
    agent: null,
    modelRequested: null,
    options: {},
    requestedAt: begin.now,
    createdAt: begin.now,
    finishedAt: null,
    workerId: null,
    epoch: 0,
    crashes: 0,
    crashesAlone: 0,
    tries: 0,
    activeMs: 0,
    waitingFor: null,
    wakeAt: null,
    cancelReason: null,
    effectiveTools: [],
    ceiling: {},
    label: { integrity: 'trusted', sources: [] },
    error: null,
    taskId: null,
    principal: begin.principal,
    subagent: null,
    profile: null,
    modelClamp: null,
  }
}

/** Sets the options of a run that was not claimed yet. */
export function setRunOptions(run: Run, options: RunOptions): Run {
  return { ...run, options, agent: options.agent ?? run.agent, modelRequested: options.model ?? run.modelRequested }
}

export interface Step {
  runId: string
  seq: number
  kind: StepKind
  payload: unknown
  /** Time of journalling; null if it was not recorded. */
  at: Millis | null
}
