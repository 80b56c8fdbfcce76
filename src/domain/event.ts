import type { Millis } from './clock.ts'

/** Something that happened, published after it is durable. The cursor is opaque: pass it back to read on. */
export interface Event {
  cursor: string
  at: Millis
  kind: EventKind
  /** A reference, `turn:…` or `session:…`. */
  subject: string
  /** What is about a session or a run has `sessionId` and `root` here, whatever else it has. */
  payload: Record<string, unknown>
}

/** The session that an event is about, and the request: its root run. A run is its own scope. */
interface EventScope {
  sessionId: string | null
  rootRunId: string | null
}

/** An event to record; one about the whole home has no scope. */
export interface NewEvent extends Omit<Event, 'cursor'> {
  scope: EventScope | null
}

/** The steps that a `run.step` tells of: those that were journalled together. Events of older versions tell of one. */
export function stepsIn({ payload }: Pick<Event, 'payload'>): readonly Event['payload'][] {
  const { steps } = payload
  return Array.isArray(steps) ? steps : [payload]
}

/** Whether an event is about this run or, if a request began with it, about anything that the request caused. */
export function isAboutRun({ subject, payload }: Event, runId: string): boolean {
  return subject === `run:${runId}` || payload['run'] === runId || payload['root'] === runId
}

export const eventKinds = [
  'turn.added',
  'session.created',
  'session.renamed',
  'session.archived',
  'session.restored',
  'session.configured',
  'turn.imported',
  'run.queued',
  'run.started',
  'run.step',
  'run.waiting',
  'run.fallback',
  'run.limited',
  'run.ended',
  'approval.asked',
  'approval.answered',
  'grant.lapsed',
  'grant.revoked',
  'sandbox.off',
  'run.undone',
  'plan.changed',
  'task.changed',
  'memory.words_only',
  'memory.brought_back',
] as const
export type EventKind = (typeof eventKinds)[number]
