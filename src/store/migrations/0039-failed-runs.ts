import type { Migration } from '../migration.ts'

/** Few runs fail: the list of those that did needs not look at all others. */
export const indexOfFailedRuns: Migration = {
  id: 39,
  name: 'failed-runs',
  up: () => [`CREATE INDEX runs_failed ON runs (id) WHERE state IN ('failed', 'timeout')`],
}
