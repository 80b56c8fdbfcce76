import type { App } from '../api/app.ts'
import type { PlanView, TaskView } from '../api/views/plan.ts'
import type { RunView } from '../api/views/run.ts'
import type { Event } from '../domain/event.ts'
import type { RunError } from '../domain/run.ts'
import type { StreamDelta } from '../domain/stream-delta.ts'

/** Paths of all routes. `:id` is an id, or its first or last characters, or a number for plans, tasks, approvals and grants. */
export const routeNames = {
  health: '/v1/health',
  inputs: '/v1/inputs',
  answer: '/v1/inputs/:id/answer',
  runs: '/v1/runs',
  run: '/v1/runs/:id',
  cancel: '/v1/runs/:id/cancel',
  retry: '/v1/runs/:id/retry',
  plans: '/v1/plans',
  plan: '/v1/plans/:id',
  cancelPlan: '/v1/plans/:id/cancel',
  tasks: '/v1/tasks',
  task: '/v1/tasks/:id',
  cancelTask: '/v1/tasks/:id/cancel',
  retryTask: '/v1/tasks/:id/retry',
  results: '/v1/results',
  approvals: '/v1/approvals',
  decide: '/v1/approvals/:id',
  grants: '/v1/grants',
  revoke: '/v1/grants/:id/revoke',
  undo: '/v1/runs/:id/undo',
  status: '/v1/status',
  usage: '/v1/usage',
  cursor: '/v1/cursor',
  events: '/v1/events',
} as const

/** Identity of a daemon. */
export interface Health {
  ok: true
  pid: number
  version: string
  /** Start time, ISO 8601. */
  since: string
}

/** Body of every response with a status of 400 or above. */
export interface Refusal {
  ok: false
  error: RunError & { retry: 'never' | 'later' }
}

/**
 * An item of an event stream. Events are durable, come once and in order, and have a cursor to resume from. Live deltas
 * are provisional; `whole` is all text of a model call so far, and replaces what was shown of it.
 */
export type StreamItem = { kind: 'event'; event: Event } | { kind: 'live'; delta: LiveDelta }
export type LiveDelta = StreamDelta | { kind: 'whole'; runId: string; call: number; text: string }

/** Last message to a follower that is too slow: everything up to this cursor was sent, so it can resume there. */
export interface Dropped {
  cursor: string | null
}

export interface StreamQuery {
  /** Only events after this cursor; without it, from the oldest stored event. */
  after?: string
  /** Only items of this run: a whole id. */
  run?: string
  signal: AbortSignal
}

/** Client of an engine, in this process or in a daemon. */
export interface Client
  extends Pick<
    App,
    | 'submit'
    | 'answer'
    | 'runs'
    | 'cancel'
    | 'retry'
    | 'undo'
    | 'plans'
    | 'tasks'
    | 'results'
    | 'changeTask'
    | 'approvals'
    | 'decide'
    | 'grants'
    | 'revokeGrant'
    | 'status'
    | 'usage'
    | 'cursor'
  > {
  run(name: string): Promise<RunView>
  /** By `plan:N` or the number alone; tasks likewise. */
  plan(name: string): Promise<PlanView>
  task(name: string): Promise<TaskView>
  /** Ends when the signal aborts. Live deltas come only from runs that the engine's own process executes. */
  stream(query: StreamQuery): AsyncIterable<StreamItem>
}
