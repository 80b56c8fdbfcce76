import type { App, RunView } from '../domain/app.ts'
import type { Event } from '../domain/event.ts'
import type { LiveSign } from '../domain/live.ts'
import type { PlanView, TaskView } from '../domain/plan-views.ts'
import type { RunError } from '../domain/run.ts'

/** Every route, by what it is for. `:id` is a whole id or a head or tail of one, or a number where things have those. */
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

/** Who answers here. */
export interface Health {
  ok: true
  pid: number
  version: string
  /** When it went up, ISO 8601. */
  since: string
}

/** Every answer that is not what was asked for, with a status of 400 or above. */
export interface Refusal {
  ok: false
  error: RunError & { retry: 'never' | 'later' }
}

/**
 * What a follower is told. Events are durable, come once and in order, and have a cursor to go on from. Live signs are
 * provisional; `whole` is all that a call has said so far, and takes the place of what was shown of it.
 */
export type Told = { kind: 'event'; event: Event } | { kind: 'live'; sign: Live }
export type Live = LiveSign | { kind: 'whole'; runId: string; call: number; text: string }

/** What a follower that is too slow is told last: everything up to this cursor was sent. Ask again from there. */
export interface Dropped {
  cursor: string | null
}

export interface StreamQuery {
  /** Only what came after this cursor; without it, from the oldest event that is kept. */
  after?: string
  /** Only what concerns this run: a whole id. */
  run?: string
  signal: AbortSignal
}

/** What can be asked of a heddle that may be another process: the same whether its engine runs there or here. */
export interface Door
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
  /** Ends when the signal aborts. Signs are heard only of runs of the process behind the door. */
  stream(query: StreamQuery): AsyncIterable<Told>
}
