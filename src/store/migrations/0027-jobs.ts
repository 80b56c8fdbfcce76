import { fireOutcomes, jobCleanups, jobPayloads, missedPolicies } from '../../domain/jobs/job.ts'
import { scheduleKinds } from '../../domain/jobs/schedule.ts'
import { outcomes } from '../../domain/run.ts'
import type { Migration } from '../migration.ts'
import { oneOf } from './one-of.ts'

/** Jobs that start by themselves, and each time at which one did or did not. */
export const jobs: Migration = {
  id: 27,
  name: 'jobs',
  up: ({ int, text, sequenceKey, strict }) => [
    `CREATE TABLE cron_jobs (
      id              ${sequenceKey},
      name            ${text} NOT NULL,
      kind            ${text} NOT NULL CHECK ${oneOf('kind', [...scheduleKinds])},
      spec            ${text} NOT NULL,
      timezone        ${text},
      starts_at       ${int} NOT NULL,
      active_json     ${text},
      folder          ${text} NOT NULL,
      session_json    ${text} NOT NULL,
      payload         ${text} NOT NULL CHECK ${oneOf('payload', [...jobPayloads])},
      content         ${text} NOT NULL,
      options_json    ${text} NOT NULL,
      deliver_json    ${text} NOT NULL,
      missed          ${text} NOT NULL CHECK ${oneOf('missed', [...missedPolicies])},
      cleanup         ${text} NOT NULL CHECK ${oneOf('cleanup', [...jobCleanups])},
      max_failures    ${int} NOT NULL,
      failures        ${int} NOT NULL,
      enabled         ${int} NOT NULL CHECK (enabled IN (0, 1)),
      disabled_reason ${text},
      next_at         ${int} CHECK (next_at IS NULL OR enabled = 1),
      last_at         ${int},
      last_status     ${text},
      principal       ${text} NOT NULL,
      integrity       ${text} NOT NULL,
      sources_json    ${text} NOT NULL,
      version         ${int} NOT NULL,
      created_at      ${int} NOT NULL,
      updated_at      ${int} NOT NULL,
      removed_at      ${int},
      CHECK (removed_at IS NULL OR enabled = 0)
    )${strict}`,
    `CREATE INDEX cron_jobs_due ON cron_jobs (next_at) WHERE next_at IS NOT NULL`,
    `CREATE INDEX cron_jobs_by_event ON cron_jobs (spec) WHERE kind = 'event' AND enabled = 1`,
    `CREATE TABLE cron_fires (
      job_id       ${int} NOT NULL REFERENCES cron_jobs (id),
      scheduled_at ${int} NOT NULL,
      outcome      ${text} NOT NULL CHECK ${oneOf('outcome', [...fireOutcomes])},
      at           ${int} NOT NULL,
      reason       ${text},
      item_id      ${text} UNIQUE,
      root_run_id  ${text},
      status       ${text} CHECK (status IS NULL OR ${oneOf('status', [...outcomes])}),
      ended_at     ${int},
      PRIMARY KEY (job_id, scheduled_at),
      CHECK ((item_id IS NOT NULL) = (outcome = 'fired'))
    )${strict}`,
    `CREATE INDEX cron_fires_open ON cron_fires (job_id) WHERE outcome = 'fired' AND status IS NULL`,
    `CREATE INDEX cron_fires_by_request ON cron_fires (root_run_id) WHERE status IS NULL AND root_run_id IS NOT NULL`,
  ],
}
