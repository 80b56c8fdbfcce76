import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/**
 * Steps get a time and may be summaries; a join's members are done when their sessions are; an index finds the day's
 * spending.
 */
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
    `ALTER TABLE join_members ADD COLUMN session_id ${text} NOT NULL DEFAULT ''`,
    `ALTER TABLE join_members ADD COLUMN done_at ${int}`,
    `UPDATE join_members SET
      session_id = (SELECT session_id FROM runs WHERE runs.id = join_members.run_id),
      done_at = (SELECT finished_at FROM runs WHERE runs.id = join_members.run_id)`,
    `DROP INDEX join_members_by_join`,
    `CREATE INDEX join_members_open ON join_members (join_id) WHERE done_at IS NULL`,
    `CREATE INDEX join_members_by_session ON join_members (session_id) WHERE done_at IS NULL`,
    `CREATE INDEX joins_open ON joins (session_id) WHERE fired_at IS NULL`,
    `CREATE INDEX runs_of_children ON runs (session_id) WHERE parent_run_id IS NOT NULL`,
    `CREATE INDEX inbox_by_request ON inbox (root_run_id) WHERE root_run_id IS NOT NULL`,
    `CREATE INDEX usage_by_time ON usage (at, cost_usd)`,
  ],
}
