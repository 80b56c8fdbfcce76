import type { Millis } from './clock.ts'

export const runKinds = ['turn', 'task', 'spawn', 'delegate', 'cron', 'import'] as const
export type RunKind = (typeof runKinds)[number]

export const runStates = ['queued', 'running', 'waiting', 'completed', 'failed', 'timeout', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

/** How a terminal run, and therefore its turn, ended. */
export const outcomes = ['completed', 'failed', 'timeout', 'cancelled'] as const satisfies readonly RunState[]
export type Outcome = (typeof outcomes)[number]

export const stepKinds = ['reply', 'begun', 'ended'] as const
/** A journalled event inside a run: a model's reply, a tool call begun, a tool call ended. */
export type StepKind = (typeof stepKinds)[number]

/** One durable stretch of work that leaves exactly one turn. */
export interface Run {
  id: string
  kind: RunKind
  state: RunState
  sessionId: string | null
  createdAt: Millis
  finishedAt: Millis | null
}

export interface Step {
  runId: string
  seq: number
  kind: StepKind
  payload: unknown
}
