import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/** Whether an input of the run's request asks for this: quotes inside texts are escaped, so only an option matches. */
const asks = (run: string, option: string) =>
  `EXISTS (SELECT 1 FROM inbox WHERE inbox.run_id = runs.${run} AND payload_json LIKE '%,"wishes":{%${option}%')`

/** A run stores its options whole, instead of some in columns and some in its inputs, and its lane of the queue. */
export const runOptionsAndLanes: Migration = {
  id: 19,
  name: 'run_options_and_lanes',
  up: ({ text }) => [
    `ALTER TABLE runs ADD COLUMN options_json ${text} NOT NULL DEFAULT '{}'`,
    `UPDATE runs SET options_json = '{"priority":' || priority
      || CASE WHEN timeout_ms IS NULL THEN '' ELSE ',"timeoutMs":' || timeout_ms END
      || CASE WHEN deadline IS NULL THEN '' ELSE ',"deadline":' || deadline END
      || CASE WHEN ${asks('root_run_id', '"attended":true')} THEN ',"attended":true' ELSE '' END
      || CASE WHEN ${asks('root_run_id', '"waitsForBudget":true')} THEN ',"waitsForBudget":true' ELSE '' END
      ${['off', 'low', 'medium', 'high'].map(thinking).join('\n      ')}
      || '}'
      WHERE kind <> 'import'`,
    `ALTER TABLE runs DROP COLUMN timeout_ms`,

    `ALTER TABLE runs ADD COLUMN lane ${text} NOT NULL DEFAULT 'main'
      CHECK ${oneOf('lane', ['main', 'agents', 'subagents', 'cron', 'background'])}`,
    `UPDATE runs SET lane = CASE WHEN via = 'narrator' THEN 'background' ELSE 'agents' END
      WHERE via = 'narrator' OR parent_run_id IS NOT NULL`,
    // Lane and request are in the index, so that runs of full lanes are skipped without a look at their rows.
    `DROP INDEX runs_queued`,
    `CREATE INDEX runs_queued ON runs (priority DESC, requested_at, created_at, id, lane, root_run_id)
      WHERE state = 'queued'`,
    // What waits for a moment: few rows, or none.
    `CREATE INDEX runs_waking ON runs (wake_at) WHERE wake_at IS NOT NULL`,
    `CREATE INDEX runs_with_deadline ON runs (deadline) WHERE deadline IS NOT NULL AND finished_at IS NULL`,

    // Ids of messages in other systems.
    `ALTER TABLE inbox ADD COLUMN outer_ref ${text} CHECK (length(outer_ref) BETWEEN 1 AND 200)`,
  ],
}

/** Of several levels the highest stays: it is written last, and the last of equal keys counts. */
function thinking(level: string): string {
  const option = `"thinking":{"level":"${level}"}`
  return `|| CASE WHEN ${asks('id', option)} THEN ',${option}' ELSE '' END`
}
