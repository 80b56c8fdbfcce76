import type { Millis } from './clock.ts'

/** Something that happened, published after it is durable. The cursor is opaque: pass it back to read on. */
export interface Event {
  cursor: string
  at: Millis
  kind: EventKind
  /** A reference, `turn:…` or `session:…`. */
  subject: string
  payload: Record<string, unknown>
}

export const eventKinds = [
  'turn.added',
  'session.created',
  'session.renamed',
  'session.archived',
  'session.restored',
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
