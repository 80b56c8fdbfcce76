import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/** Work: the inbox, runs with owners and leases, results, joins and usage. */
export const runs: Migration = {
  id: 2,
  name: 'runs',
  up: ({ int, text, real, sequenceKey, clustered, strict }) => [
    ...[
      `via ${text} NOT NULL DEFAULT 'import'`,
      `root_run_id ${text} NOT NULL DEFAULT ''`,
      `parent_run_id ${text}`,
      `depth ${int} NOT NULL DEFAULT 0`,
      `tool_call_id ${text}`,
      // The session that is notified of its end.
      `requester_session_id ${text}`,
      `agent ${text}`,
      `model_requested ${text}`,
      `priority ${int} NOT NULL DEFAULT 0`,
      `requested_at ${int} NOT NULL DEFAULT 0`,
      // Safety rests on owner and epoch; a run has an owner exactly while it runs.
      `owner_id ${text} CHECK ((state = 'running') = (owner_id IS NOT NULL))`,
      `epoch ${int} NOT NULL DEFAULT 0`,
      `crashes ${int} NOT NULL DEFAULT 0`,
      `tries ${int} NOT NULL DEFAULT 0`,
      `active_ms ${int} NOT NULL DEFAULT 0`,
      `timeout_ms ${int}`,
      `deadline ${int}`,
      `waiting_for ${text} CHECK ((state = 'waiting') = (waiting_for IS NOT NULL))`,
      `wake_at ${int}`,
      `cancel_reason ${text}`,
      `effective_tools_json ${text} NOT NULL DEFAULT '[]'`,
      `integrity ${text} NOT NULL DEFAULT 'trusted' CHECK (integrity = 'trusted' OR integrity = 'untrusted')`,
      `sources_json ${text} NOT NULL DEFAULT '[]'`,
      `error_json ${text}`,
    ].map((column) => `ALTER TABLE runs ADD COLUMN ${column}`),
    `UPDATE runs SET root_run_id = id, requested_at = created_at`,

    // One live run per session: later inputs wait in order.
    `CREATE UNIQUE INDEX runs_live ON runs (session_id) WHERE finished_at IS NULL`,
    `CREATE INDEX runs_queued ON runs (priority DESC, requested_at, created_at, id) WHERE state = 'queued'`,
    `CREATE INDEX runs_owned ON runs (owner_id) WHERE owner_id IS NOT NULL`,
    `CREATE INDEX runs_unfinished ON runs (root_run_id) WHERE finished_at IS NULL`,

    `CREATE TABLE owners (
      id         ${text} PRIMARY KEY,
      pid        ${int} NOT NULL,
      started_at ${int} NOT NULL,
      beat_at    ${int} NOT NULL
    )${clustered}`,

    `CREATE TABLE inbox (
      id               ${text} PRIMARY KEY,
      session_id       ${text} NOT NULL REFERENCES sessions (id) DEFERRABLE,
      kind             ${text} NOT NULL CHECK ${oneOf('kind', ['message', 'result', 'join', 'trigger', 'steer', 'system'])},
      payload_json     ${text} NOT NULL,
      source           ${text} NOT NULL,
      integrity        ${text} NOT NULL,
      sources_json     ${text} NOT NULL,
      wake             ${int} NOT NULL CHECK (wake IN (0, 1)),
      dedupe_key       ${text} UNIQUE,
      root_run_id      ${text},
      run_id           ${text} REFERENCES runs (id) DEFERRABLE,
      consumed_by_turn ${text} REFERENCES turns (id) DEFERRABLE,
      created_at       ${int} NOT NULL,
      CHECK (consumed_by_turn IS NULL OR run_id IS NOT NULL)
    )${strict}`,
    `CREATE INDEX inbox_waiting ON inbox (session_id, id) WHERE consumed_by_turn IS NULL`,
    `CREATE INDEX inbox_by_run ON inbox (run_id)`,

    // The output of a run, never changed: written before it is delivered.
    `CREATE TABLE agent_results (
      id              ${sequenceKey},
      run_id          ${text} NOT NULL UNIQUE REFERENCES runs (id) DEFERRABLE,
      task_id         ${int},
      skill_used      ${text},
      status          ${text} NOT NULL CHECK ${oneOf('status', ['completed', 'failed', 'timeout', 'cancelled'])},
      summary         ${text} NOT NULL,
      output          ${text} NOT NULL,
      artifacts_json  ${text} NOT NULL,
      memory_ids      ${text} NOT NULL,
      processed       ${int} NOT NULL CHECK (processed IN (0, 1)),
      created_at      ${int} NOT NULL
    )${strict}`,

    // "Wake this session when all of these have ended": one wake, whatever the number of members.
    `CREATE TABLE joins (
      id          ${text} NOT NULL PRIMARY KEY,
      session_id  ${text} NOT NULL REFERENCES sessions (id) DEFERRABLE,
      root_run_id ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      fired_at    ${int},
      created_at  ${int} NOT NULL
    )${strict}`,
    `CREATE TABLE join_members (
      run_id  ${text} NOT NULL PRIMARY KEY REFERENCES runs (id) DEFERRABLE,
      join_id ${text} NOT NULL REFERENCES joins (id) DEFERRABLE
    )${clustered}`,
    `CREATE INDEX join_members_by_join ON join_members (join_id)`,
    `CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL`,

    // A model call's cost is reserved before it is made: a crash leaves a trace of what may have been spent.
    `CREATE TABLE usage (
      run_id        ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      call          ${int} NOT NULL,
      root_run_id   ${text} NOT NULL,
      model         ${text} NOT NULL,
      state         ${text} NOT NULL CHECK ${oneOf('state', ['reserved', 'spent', 'lost'])},
      input_tokens  ${int} NOT NULL,
      output_tokens ${int} NOT NULL,
      cached_tokens ${int} NOT NULL,
      cost_usd      ${real} NOT NULL,
      at            ${int} NOT NULL,
      PRIMARY KEY (run_id, call)
    )${clustered}`,
    `CREATE INDEX usage_by_request ON usage (root_run_id)`,
  ],
}
