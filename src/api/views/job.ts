import type { FireOutcome, JobCleanup, JobPayload, MissedPolicy } from '../../domain/jobs/job.ts'
import type { OutboxState } from '../../domain/jobs/outbox.ts'
import type { ScheduleKind } from '../../domain/jobs/schedule.ts'
import type { ThinkingConfig } from '../../domain/message.ts'
import type { Outcome } from '../../domain/run.ts'

/** When a job fires, in the caller's words; exactly one of the first four is given. */
export interface JobTimes {
  /** A date and time, or words: `in 20 min`, `18:00 tomorrow`. */
  at?: string
  /** `20s`, `15 min`, `2h`, or words: `weekday at 08:30`. */
  every?: string
  /** Five fields. */
  cron?: string
  /** Name of an event. */
  on?: string
  /** Default: that of the configuration, else of the machine. */
  timezone?: string
  /** `HH:MM-HH:MM`. */
  activeHours?: string
}

/** Settings of a job; a message is a task, an event is news for a session. */
export interface JobSettings extends JobTimes {
  name?: string
  message?: string
  event?: string
  /** `main`, `isolated`, a label, `persona:ID`, or `turn:ID` to begin each fire at that turn. */
  session?: string
  agent?: string
  model?: string
  thinking?: ThinkingConfig['level']
  timeoutSeconds?: number
  /** `session:LABEL`, `notify`, `file:PATH`, `webhook:NAME`. */
  deliver?: string[]
  missed?: MissedPolicy
  cleanup?: JobCleanup
  maxFailures?: number
}

export interface JobView {
  id: number
  name: string
  kind: ScheduleKind
  /** The time, interval, expression or event. */
  spec: string
  timezone?: string
  activeHours?: string
  folder: string
  session: string
  payload: JobPayload
  content: string
  agent?: string
  model?: string
  deliver: string[]
  missed: MissedPolicy
  cleanup: JobCleanup
  enabled: boolean
  /** Why it was disabled by itself. */
  disabledReason?: string
  failures: number
  nextAt: string | null
  lastAt?: string
  lastStatus?: string
  principal: string
  createdAt: string
}

export interface FireView {
  jobId: number
  scheduledAt: string
  at: string
  outcome: FireOutcome
  /** Why it was skipped, or did not complete. */
  reason?: string
  runId?: string
  status?: Outcome
}

/** What became of the times of a job within an hour, and whether one is to come. */
export interface JobHour {
  /** Its beginning. */
  at: string
  completed: number
  /** Those that were cancelled or ran out of time included. */
  failed: number
  missed: number
  skipped: number
  running: number
  isDue: boolean
}

/** Seven days of jobs; hours in which nothing happens are left out. */
export interface JobWeek {
  from: string
  to: string
  now: string
  jobs: { jobId: number; hours: JobHour[] }[]
}

/** A message that a job sends. */
export interface MessageView {
  id: number
  to: string
  title: string
  jobId?: number
  state: OutboxState
  attempts: number
  nextAt?: string
  lastError?: string
  createdAt: string
  sentAt?: string
}
