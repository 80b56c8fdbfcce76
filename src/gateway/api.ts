import type { AccountView } from '../api/account.ts'
import type { App } from '../api/app.ts'
import type { PlanView, TaskView } from '../api/views/plan.ts'
import type { RunView, WorkInProgress } from '../api/views/run.ts'
import type { Event } from '../domain/event.ts'
import type { RunError } from '../domain/run.ts'
import type { StreamDelta } from '../domain/stream-delta.ts'

/** Identity of a daemon. */
export interface Health {
  ok: true
  pid: number
  version: string
  /** Start time, ISO 8601. */
  since: string
  /** Address of its page; null without one. */
  url: string | null
}

/** Who uses the page, and what it shows first. */
export interface Me extends AccountView {
  /** Name of this installation. */
  name: string
  /** Folder of the home; null for others than the owner. */
  home: string | null
  /** Folder to begin in; null for an admin, who has none of its own. */
  folder: string | null
  version: string
  /** When the daemon started, ISO 8601. */
  since: string
  /** Cursor of the newest event. */
  cursor: string | null
  /** The model that is asked unless another is named; null without one. */
  model: { name: string; isReady: boolean; isRehearsal: boolean } | null
  /** What the daemon found of a dead process when it started; null for others than the owner. */
  recovered: RecoveredRuns | null
}

/** Runs of a dead process that a daemon took over, and what was lost with it. */
export type RecoveredRuns = Pick<WorkInProgress, 'resumed' | 'quarantined' | 'lost' | 'unknownCalls'>

/** Body of every response with a status of 400 or above. */
export interface Refusal {
  ok: false
  error: RunError & {
    retry: 'never' | 'later'
    /** The caller must change the request; left out where the status says so. */
    misuse?: true
  }
  /** The current version, on a conflict. */
  newest?: unknown
}

/**
 * An item of an event stream. Events are durable, come once and in order, and have a cursor to resume from. Live deltas
 * are provisional; `whole` is all text of a model call so far, and replaces what was shown of it.
 */
export type StreamItem = { kind: 'event'; event: Event } | { kind: 'live'; delta: LiveDelta }
export type LiveDelta = StreamDelta | { kind: 'whole'; runId: string; call: number; text: string }

/** Last message to a follower that is too slow: everything up to this cursor was sent, so it can resume there. */
export interface DroppedFollower {
  cursor: string | null
}

export interface StreamQuery {
  /** Only events after this cursor; without it, from the oldest stored event. */
  after?: string
  /** Only items of this run: a whole id. */
  run?: string
  signal: AbortSignal
}

/** Client of an engine, in this process or in a daemon: all of App, views by name, and the live stream. */
export interface Client extends App {
  run(name: string): Promise<RunView>
  /** By `plan:N` or the number alone; tasks likewise. */
  plan(name: string): Promise<PlanView>
  task(name: string): Promise<TaskView>
  /** Ends when the signal aborts. Live deltas come only from runs that the engine's own process executes. */
  stream(query: StreamQuery): AsyncIterable<StreamItem>
}
