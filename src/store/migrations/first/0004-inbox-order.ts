import type { Migration } from '../../migration.ts'

/**
 * Orders inbox items by arrival instead of by id, which depends on a clock; a join records the run that waits for it.
 */
export const inboxOrder: Migration = {
  id: 4,
  name: 'arrival',
  up: ({ int, text }) => [
    `ALTER TABLE inbox ADD COLUMN seq ${int} NOT NULL DEFAULT 0`,
    `DROP INDEX inbox_waiting`,
    `CREATE INDEX inbox_waiting ON inbox (session_id, seq, id) WHERE consumed_by_turn IS NULL`,
    `ALTER TABLE joins ADD COLUMN run_id ${text}`,
    `CREATE INDEX joins_by_run ON joins (run_id) WHERE fired_at IS NULL`,
  ],
}
