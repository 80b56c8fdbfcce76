import type { Migration } from '../../migration.ts'

/** Running totals per request: its cost is read before each call, and only new calls are summed. */
export const requestTotals: Migration = {
  id: 8,
  name: 'request-totals',
  up: ({ int, text, real, clustered }) => [
    `CREATE TABLE request_totals (
      root_run_id ${text} PRIMARY KEY NOT NULL REFERENCES runs (id) DEFERRABLE,
      tokens      ${int} NOT NULL,
      cost_usd    ${real} NOT NULL
    )${clustered}`,
    // Whether a call is in its request's total; the cost of an open call may still change.
    `ALTER TABLE usage ADD COLUMN counted ${int} NOT NULL DEFAULT 0 CHECK (counted = 0 OR state <> 'reserved')`,
    `CREATE INDEX usage_uncounted ON usage (root_run_id) WHERE counted = 0`,
  ],
}
