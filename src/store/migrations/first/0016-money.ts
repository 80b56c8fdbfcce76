import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/**
 * New states for calls without a reported cost: estimated, lost, free. Usage no longer references runs, since a restore
 * carries over today's usage without its runs. Steps are counted per request.
 */
export const money: Migration = {
  id: 16,
  name: 'money',
  up: ({ int, text, real, clustered }) => [
    `CREATE TABLE usage_of_calls (
      run_id        ${text} NOT NULL,
      call          ${int} NOT NULL,
      root_run_id   ${text} NOT NULL,
      model         ${text} NOT NULL,
      state         ${text} NOT NULL CHECK ${oneOf('state', ['reserved', 'spent', 'estimated', 'lost', 'free'])},
      input_tokens  ${int} NOT NULL,
      output_tokens ${int} NOT NULL,
      cached_tokens ${int} NOT NULL,
      cost_usd      ${real} NOT NULL,
      at            ${int} NOT NULL,
      counted       ${int} NOT NULL DEFAULT 0 CHECK (counted = 0 OR state <> 'reserved'),
      PRIMARY KEY (run_id, call)
    )${clustered}`,
    `INSERT INTO usage_of_calls
      (run_id, call, root_run_id, model, state, input_tokens, output_tokens, cached_tokens, cost_usd, at, counted)
      SELECT run_id, call, root_run_id, model, state, input_tokens, output_tokens, cached_tokens, cost_usd, at, counted
      FROM usage`,
    `DROP TABLE usage`,
    `ALTER TABLE usage_of_calls RENAME TO usage`,
    // Before, a call that failed without cost had the state lost.
    `UPDATE usage SET state = 'free' WHERE state = 'lost' AND input_tokens = 0 AND output_tokens = 0`,
    `CREATE INDEX usage_by_request ON usage (root_run_id)`,
    `CREATE INDEX usage_by_time ON usage (at, cost_usd)`,
    `CREATE INDEX usage_uncounted ON usage (root_run_id) WHERE counted = 0`,

    `ALTER TABLE request_totals ADD COLUMN steps ${int} NOT NULL DEFAULT 0`,
    `UPDATE request_totals SET steps = (
      SELECT count(*) FROM usage
      WHERE usage.root_run_id = request_totals.root_run_id AND counted = 1 AND state <> 'free'
    )`,
    // Estimated and lost parts of a turn's cost; null when all of it is known.
    `ALTER TABLE turns ADD COLUMN unsure_json ${text}`,
  ],
}
