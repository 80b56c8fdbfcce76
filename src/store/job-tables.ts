import type { Generated } from 'kysely'
import type { DeliveryKind, FireOutcome, Job, JobCleanup, JobPayload, MissedPolicy } from '../domain/jobs/job.ts'
import type { OutboxState } from '../domain/jobs/outbox.ts'
import type { ScheduleKind } from '../domain/jobs/schedule.ts'
import type { Integrity } from '../domain/label.ts'
import type { Outcome } from '../domain/run.ts'

/** Rows of jobs and of what they send. */
export interface JobTables {
  cron_jobs: {
    id: Generated<number>
    name: string
    kind: ScheduleKind
    spec: string
    timezone: string | null
    starts_at: number
    active_json: string | null
    folder: string
    session_json: string
    payload: JobPayload
    content: string
    options_json: string
    deliver_json: string
    missed: MissedPolicy
    cleanup: JobCleanup
    max_failures: number
    failures: number
    enabled: number
    disabled_reason: string | null
    next_at: number | null
    last_at: number | null
    last_status: Job['lastStatus']
    principal: string
    integrity: Integrity
    sources_json: string
    version: number
    created_at: number
    updated_at: number
    removed_at: number | null
  }
  cron_fires: {
    job_id: number
    scheduled_at: number
    outcome: FireOutcome
    at: number
    reason: string | null
    item_id: string | null
    root_run_id: string | null
    status: Outcome | null
    ended_at: number | null
  }
  outbox: {
    id: Generated<number>
    kind: DeliveryKind
    target: string
    title: string
    content: string
    integrity: Integrity
    sources_json: string
    principal: string
    folder: string
    job_id: number | null
    run_id: string | null
    state: OutboxState
    attempts: number
    next_at: number | null
    last_error: string | null
    dedupe_key: string
    created_at: number
    sent_at: number | null
  }
}
