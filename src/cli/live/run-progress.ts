import type { Millis } from '../../domain/clock.ts'

const silentAfter: Millis = 5000

/** State of an active run: the session's own run, or one that works for it. */
export interface RunProgress {
  id: string
  depth: number
  agent: string | undefined
  startedAt: Millis
  /** False while it is queued. */
  isStarted: boolean
  /** Time of its last event or delta. */
  lastAt: Millis
  calls: Map<string, { name: string; about: string | undefined; at: Millis }>
  /** Number of calls by tool. */
  used: Map<string, number>
  waits: string
  waited?: string
}

/** A run that was just heard of. */
export function trackRun(
  id: string,
  who: { depth: number; agent: string | undefined },
  startedAt: Millis,
): RunProgress {
  return { id, ...who, startedAt, isStarted: false, lastAt: startedAt, calls: new Map(), used: new Map(), waits: '' }
}

/** How long a run has been silent, once that is worth showing. */
export function formatSilence(run: RunProgress, now: Millis, hasText = false): string {
  if (run.waits !== '') return run.waits
  const silent = now - run.lastAt
  if (silent < silentAfter) return ''
  return `${hasText ? 'silent' : 'thinking'} for ${Math.floor(silent / 1000)} s`
}
