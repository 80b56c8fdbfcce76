import type { Migration } from '../migration.ts'
import { oneOf } from './one-of.ts'

/** Steps know when they were made and may be summaries; the day's spending is found without reading every call. */
export const compaction: Migration = {
  id: 3,
  name: 'compaction',
  up: ({ int, text, strict }) => [
    `CREATE TABLE steps_with_time (
      run_id       ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      seq          ${int} NOT NULL CHECK (seq > 0),
      kind         ${text} NOT NULL CHECK ${oneOf('kind', ['reply', 'begun', 'ended', 'steer', 'compact'])},
      payload_json ${text} NOT NULL,
      at           ${int},
      PRIMARY KEY (run_id, seq)
    )${strict}`,
    `INSERT INTO steps_with_time (run_id, seq, kind, payload_json) SELECT run_id, seq, kind, payload_json FROM steps`,
    `DROP TABLE steps`,
    `ALTER TABLE steps_with_time RENAME TO steps`,
    `CREATE INDEX usage_by_time ON usage (at, cost_usd)`,
  ],
}
