import type { Millis } from '../clock.ts'
import { UsageError } from '../errors.ts'
import type { Label } from '../label.ts'
import type { Outcome } from '../run.ts'
import type { RunOptions } from '../run-options.ts'
import type { Timetable } from './schedule.ts'

export const jobPayloads = ['systemEvent', 'agentTurn'] as const
/** What a fire gives its session: news about which its agent decides, or a task. */
export type JobPayload = (typeof jobPayloads)[number]

export const missedPolicies = ['skip', 'once'] as const
/** What becomes of times at which no process ran: nothing, or one fire for the latest of them. */
export type MissedPolicy = (typeof missedPolicies)[number]

export const jobCleanups = ['keep', 'disable', 'delete'] as const
/** Action on a job after a fire that completed. */
export type JobCleanup = (typeof jobCleanups)[number]

export const deliveryKinds = ['session', 'notify', 'file', 'webhook'] as const
/** Where an answer goes: a session's label, the program `notify.command`, a file, or a webhook of the configuration. */
export type DeliveryKind = (typeof deliveryKinds)[number]

export interface DeliveryTarget {
  kind: DeliveryKind
  /** Label, path or name; empty for `notify`. */
  to: string
}

/** Where a job's fires go: a session of its own that starts empty each time, or a session that goes on. */
export type JobSession =
  /** `fromTurn`: each fire begins at this turn instead of at nothing. Persona and those that bind it: the author's. */
  | { kind: 'isolated'; fromTurn?: string; personaId?: string; boundBy?: readonly string[] }
  | { kind: 'label'; label: string }

/** Work that starts by itself, at a time or at an event. */
export interface Job extends Timetable {
  id: number
  name: string
  folder: string
  session: JobSession
  payload: JobPayload
  content: string
  /** Agent, model, thinking, timeout and ceiling of its runs. */
  options: RunOptions
  deliver: DeliveryTarget[]
  missed: MissedPolicy
  cleanup: JobCleanup
  /** Failures in a row after which it is disabled. */
  maxFailures: number
  failures: number
  isEnabled: boolean
  /** Why it was disabled by itself. */
  disabledReason: string | null
  /** Null while it waits for no time: disabled, over, or started by an event. */
  nextAt: Millis | null
  /** The last time that was handled: later fires are for later times, whatever the clock shows. */
  lastAt: Millis | null
  lastStatus: Outcome | 'missed' | 'skipped' | null
  /** Text form of the principal who made it, on whose behalf it runs. */
  principal: string
  /** Label of what led to it: its fires are trusted no more than that. */
  label: Label
  version: number
  createdAt: Millis
  updatedAt: Millis
}

export const fireOutcomes = ['fired', 'skipped', 'missed'] as const
/** Outcome of one fire of a job. */
export type FireOutcome = (typeof fireOutcomes)[number]

/** One time of a job. */
export interface Fire {
  jobId: number
  scheduledAt: Millis
  outcome: FireOutcome
  at: Millis
  /** Why it was skipped, or did not complete. */
  reason: string | null
  itemId: string | null
  /** The request that it started; null until a run has taken its input. */
  rootRunId: string | null
  /** Outcome of the request, once all of it is at rest. */
  status: Outcome | null
  endedAt: Millis | null
}

/** Label of the session that a job has for itself. */
export function jobLabel(id: number): string {
  return `cron:${id}`
}

/** Reads `session:LABEL`, `notify`, `file:PATH` or `webhook:NAME`. */
export function parseDelivery(text: string): DeliveryTarget {
  const [, kind, to = ''] = /^(session|notify|file|webhook)(?::(.+))?$/s.exec(text.trim()) ?? []
  if (kind === 'notify' && to === '') return { kind, to }
  if ((kind === 'session' || kind === 'file' || kind === 'webhook') && to !== '') return { kind, to }
  throw new UsageError(
    `"${text}" is not a place to deliver to`,
    'use session:LABEL, notify, file:PATH or webhook:NAME',
    'bad_delivery',
  )
}

export function deliveryText({ kind, to }: DeliveryTarget): string {
  return kind === 'notify' ? kind : `${kind}:${to}`
}
