import type { Migration } from '../migration.ts'

/** Each index of a table that every turn writes is one more page in its commit: calls of a request need one, not two. */
export const narrowIndexes: Migration = {
  id: 41,
  name: 'narrow-indexes',
  up: () => [
    `DROP INDEX usage_uncounted`,
    `DROP INDEX usage_by_request`,
    `CREATE INDEX usage_by_request ON usage (root_run_id, counted)`,
  ],
}
