import type { CrashPoint } from '../../src/domain/crash-points.ts'

/** What a process says. What is accepted or cancelled is a promise that must hold, whatever happens to it next. */
export type Said =
  | { accepted: string; content: string }
  /** `asked`: how many requests the provider had seen by then. */
  | { cancelled: string; state: string; at: number; asked: number }
  | { admitted: string }
  /** A job that was added, by its name. */
  | { scheduled: string }
  | Kept
  | { token: string; id: number; user: string }
  /** What a request with this key was answered; null where it was not known whether it had its effect. */
  | { key: string; answer: unknown }
  /** A token that was revoked, and whether it was good after that. */
  | { revoked: number; isGood: boolean }
  | { trouble: string }
  /** It lived, and had no heartbeat for so long that its runs may have been given back. */
  | { silentMs: number }
  | { ready: true }
  | { stopping: true }
  | { stalling: true }
  | { quiet: true }
  | { passes: Passes }

/** Something that was done by hand, and must be there exactly once from then on. */
export interface Kept {
  kept: 'turn' | 'session' | 'persona' | 'memory' | 'vector' | 'setting' | 'backup' | 'undone'
  name: string
}

export type Passes = Partial<Record<CrashPoint, number>>
