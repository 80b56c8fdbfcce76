import type { Millis } from './clock.ts'
import type { Label } from './label.ts'

export const runKinds = ['turn', 'task', 'spawn', 'delegate', 'cron', 'import'] as const
export type RunKind = (typeof runKinds)[number]

/** How a run came about. */
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

export const runStates = ['queued', 'running', 'waiting', 'completed', 'failed', 'timeout', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

/** How a terminal run, and therefore its turn, ended. */
export const outcomes = ['completed', 'failed', 'timeout', 'cancelled'] as const satisfies readonly RunState[]
export type Outcome = (typeof outcomes)[number]

/** Every legal move of a run; what is not here cannot happen. Terminal is terminal. */
export const runMoves: Record<RunState, readonly RunState[]> = {
  queued: ['running', 'cancelled', 'failed', 'timeout'],
  running: ['completed', 'failed', 'timeout', 'cancelled', 'waiting', 'queued'],
  waiting: ['queued', 'cancelled', 'failed', 'timeout'],
  completed: [],
  failed: [],
  timeout: [],
  cancelled: [],
}

export function isTerminal(state: RunState): state is Outcome {
  return runMoves[state].length === 0
}

export const stepKinds = ['reply', 'begun', 'ended', 'steer', 'compact'] as const
/**
 * A journalled event inside a run: a model's reply, a tool call begun or ended, an input that came meanwhile, a summary
 * that stands for all steps before it.
 */
export type StepKind = (typeof stepKinds)[number]

/** What a parked run waits for. */
export const waits = ['retry', 'budget', 'approval', 'question', 'delegate'] as const
export type Wait = (typeof waits)[number]

/** Why a run did not complete: what people and the model's next turn are told. */
export interface RunError {
  code: string
  message: string
  remedy: string
}

/** How people are told that a run did not answer. */
export const outcomeWord = {
  completed: 'Completed',
  failed: 'Failed',
  timeout: 'Timed out',
  cancelled: 'Cancelled',
} as const satisfies Record<Outcome, string>

/** How a run ends, and what its turn says. */
export interface Ending {
  state: Outcome
  text: string
  error: RunError | null
  /** What it had said before it ended otherwise than by answering; part of `text`. */
  said?: string
}

/** One durable stretch of work that leaves exactly one turn. */
export interface Run {
  id: string
  kind: RunKind
  via: RunOrigin
  state: RunState
  sessionId: string | null
  /** The request: the run that a human's or trigger's input began. */
  rootRunId: string
  parentRunId: string | null
  /** How many runs lie above this one. */
  depth: number
  /** The call in the parent that began it. */
  toolCallId: string | null
  /** The session that hears of its end; null for a run that a person or trigger began. */
  requesterSessionId: string | null
  agent: string | null
  modelRequested: string | null
  priority: number
  /** When the request was made: children keep their root's place in the queue. */
  requestedAt: Millis
  createdAt: Millis
  finishedAt: Millis | null
  /** Who runs it, and the how-manieth claim this is: every write of a run checks both. */
  ownerId: string | null
  epoch: number
  /** Owners that died with it without a committed step in between. */
  crashes: number
  /** Attempts of the model call that is being made. */
  tries: number
  /** Running time so far; queueing and waiting do not count. */
  activeMs: Millis
  timeoutMs: Millis | null
  deadline: Millis | null
  waitingFor: Wait | null
  /** Not to be claimed before this moment. */
  wakeAt: Millis | null
  cancelReason: string | null
  effectiveTools: string[]
  label: Label
  error: RunError | null
  /** The task of a plan that it does. */
  taskId: number | null
}

/** A run as it begins: queued, its own request, nobody's child, with nothing done yet. */
export function newRun(begin: {
  id: string
  kind: RunKind
  via: RunOrigin
  sessionId: string | null
  now: Millis
}): Run {
  return {
    id: begin.id,
    kind: begin.kind,
    via: begin.via,
    state: 'queued',
    sessionId: begin.sessionId,
    rootRunId: begin.id,
    parentRunId: null,
    depth: 0,
    toolCallId: null,
    requesterSessionId: null,
    agent: null,
    modelRequested: null,
    priority: 0,
    requestedAt: begin.now,
    createdAt: begin.now,
    finishedAt: null,
    ownerId: null,
    epoch: 0,
    crashes: 0,
    tries: 0,
    activeMs: 0,
    timeoutMs: null,
    deadline: null,
    waitingFor: null,
    wakeAt: null,
    cancelReason: null,
    effectiveTools: [],
    label: { integrity: 'trusted', sources: [] },
    error: null,
    taskId: null,
  }
}

export interface Step {
  runId: string
  seq: number
  kind: StepKind
  payload: unknown
  /** When it was journalled; null for one whose time nobody kept. */
  at: Millis | null
}
