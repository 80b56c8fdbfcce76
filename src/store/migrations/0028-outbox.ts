import { deliveryKinds } from '../../domain/jobs/job.ts'
import { outboxStates } from '../../domain/jobs/outbox.ts'
import type { Migration } from '../migration.ts'
import { oneOf } from './one-of.ts'

/** Messages that leave the runtime, written in the transaction that ends what they report. */
export const outbox: Migration = {
  id: 28,
  name: 'outbox',
  up: ({ int, text, sequenceKey, strict }) => [
    `CREATE TABLE outbox (
      id           ${sequenceKey},
      kind         ${text} NOT NULL CHECK ${oneOf('kind', [...deliveryKinds])},
      target       ${text} NOT NULL,
      title        ${text} NOT NULL,
      content      ${text} NOT NULL,
      integrity    ${text} NOT NULL,
      sources_json ${text} NOT NULL,
      principal    ${text} NOT NULL,
      folder       ${text} NOT NULL,
      job_id       ${int} REFERENCES cron_jobs (id),
      run_id       ${text},
      state        ${text} NOT NULL CHECK ${oneOf('state', [...outboxStates])},
      attempts     ${int} NOT NULL,
      next_at      ${int},
      last_error   ${text},
      dedupe_key   ${text} NOT NULL UNIQUE,
      created_at   ${int} NOT NULL,
      sent_at      ${int},
      CHECK ((next_at IS NOT NULL) = (state = 'queued' OR state = 'sending'))
    )${strict}`,
    `CREATE INDEX outbox_due ON outbox (next_at) WHERE next_at IS NOT NULL`,
    `CREATE INDEX outbox_dead ON outbox (id) WHERE state = 'dead'`,
  ],
}
