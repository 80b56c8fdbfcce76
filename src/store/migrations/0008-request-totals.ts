import type { Migration } from '../migration.ts'

/** What a request has cost is asked before each of its calls: the sum is kept, and only what is new is added up. */
export const requestTotals: Migration = {
  id: 8,
  name: 'request-totals',
  up: ({ int, text, real, clustered }) => [
    `CREATE TABLE request_totals (
      root_run_id ${text} PRIMARY KEY NOT NULL REFERENCES runs (id) DEFERRABLE,
      tokens      ${int} NOT NULL,
      cost_usd    ${real} NOT NULL
    )${clustered}`,
    // Whether a call is in its request's total; one that has not ended may still cost something else.
    `ALTER TABLE usage ADD COLUMN counted ${int} NOT NULL DEFAULT 0 CHECK (counted = 0 OR state <> 'reserved')`,
    `CREATE INDEX usage_uncounted ON usage (root_run_id) WHERE counted = 0`,
  ],
}
