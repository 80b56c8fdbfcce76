import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/** Turns, their places in the tree, the sessions that point at them, and the journal of what made them. */
export const tree: Migration = {
  id: 1,
  name: 'tree',
  up: ({ int, text, real, xid, sequence, eventKey, clustered, strict }) => [
    `CREATE TABLE meta (
      key   ${text} PRIMARY KEY,
      value ${text} NOT NULL
    )${clustered}`,

    `CREATE TABLE personas (
      id                        ${text} PRIMARY KEY,
      identity_json             ${text} NOT NULL,
      permissions_json          ${text} NOT NULL,
      default_model_config_json ${text},
      updated_at                ${int} NOT NULL
    )${clustered}`,

    `CREATE TABLE prompts (
      hash ${text} NOT NULL PRIMARY KEY,
      text ${text} NOT NULL
    )${strict}`,

    // A fork is one row here. The turns of a segment have the depths fork_depth + 1, + 2, …
    `CREATE TABLE segments (
      id         ${text} PRIMARY KEY,
      parent_id  ${text} REFERENCES segments (id) DEFERRABLE,
      fork_depth ${int} NOT NULL CHECK (fork_depth >= 0),
      CHECK ((parent_id IS NULL) = (fork_depth = 0))
    )${clustered}`,
    `CREATE INDEX segments_by_fork ON segments (parent_id, fork_depth)`,

    `CREATE TABLE runs (
      id          ${text} PRIMARY KEY,
      kind        ${text} NOT NULL CHECK ${oneOf('kind', ['turn', 'task', 'spawn', 'delegate', 'cron', 'import'])},
      state       ${text} NOT NULL CHECK ${oneOf('state', ['queued', 'running', 'waiting', 'completed', 'failed', 'timeout', 'cancelled'])},
      session_id  ${text},
      created_at  ${int} NOT NULL,
      finished_at ${int},
      CHECK ((finished_at IS NULL) = ${oneOf('state', ['queued', 'running', 'waiting'])})
    )${clustered}`,

    `CREATE TABLE steps (
      run_id       ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      seq          ${int} NOT NULL CHECK (seq > 0),
      kind         ${text} NOT NULL CHECK ${oneOf('kind', ['reply', 'begun', 'ended', 'steer'])},
      payload_json ${text} NOT NULL,
      PRIMARY KEY (run_id, seq)
    )${strict}`,

    `CREATE TABLE turns (
      id                    ${text} NOT NULL PRIMARY KEY,
      run_id                ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      type                  ${text} NOT NULL CHECK (type IN ('normal', 'compaction')),
      status                ${text} NOT NULL CHECK ${oneOf('status', ['completed', 'failed', 'timeout', 'cancelled'])},
      query_messages_json   ${text} NOT NULL,
      response_message_json ${text} NOT NULL,
      model_requested       ${text},
      model                 ${text},
      thinking_config_json  ${text},
      tool_calls_json       ${text} NOT NULL,
      token_count           ${int} NOT NULL CHECK (token_count >= 0),
      input_tokens          ${int} NOT NULL CHECK (input_tokens >= 0),
      output_tokens         ${int} NOT NULL CHECK (output_tokens >= 0),
      cached_tokens         ${int} NOT NULL CHECK (cached_tokens >= 0),
      cost_usd              ${real} NOT NULL CHECK (cost_usd >= 0),
      compaction_json       ${text},
      prompt_hash           ${text} REFERENCES prompts (hash) DEFERRABLE,
      integrity             ${text} NOT NULL CHECK (integrity IN ('trusted', 'untrusted')),
      sources_json          ${text} NOT NULL,
      timestamp             ${int} NOT NULL,
      CHECK ((type = 'compaction') = (compaction_json IS NOT NULL))
    )${strict}`,

    // Clustered by segment and depth: a path is a few range scans, whatever its length.
    `CREATE TABLE threads (
      segment_id     ${text} NOT NULL REFERENCES segments (id) DEFERRABLE,
      depth          ${int} NOT NULL CHECK (depth > 0),
      turn_id        ${text} NOT NULL UNIQUE REFERENCES turns (id) DEFERRABLE,
      parent_turn_id ${text} REFERENCES threads (turn_id) DEFERRABLE,
      total_tokens   ${int} NOT NULL CHECK (total_tokens >= 0),
      has_children   ${int} NOT NULL CHECK (has_children IN (0, 1)),
      context_start  ${int} NOT NULL CHECK (context_start BETWEEN 0 AND depth),
      persona_id     ${text},
      PRIMARY KEY (segment_id, depth),
      CHECK ((parent_turn_id IS NULL) = (depth = 1))
    )${clustered}`,

    // UNIQUE (segment_id): a segment is written by exactly one session, so two labels on one tip never collide.
    `CREATE TABLE sessions (
      id           ${text} PRIMARY KEY,
      folder       ${text} NOT NULL,
      label        ${text} NOT NULL,
      segment_id   ${text} NOT NULL UNIQUE REFERENCES segments (id) DEFERRABLE,
      head_turn_id ${text} REFERENCES threads (turn_id) DEFERRABLE,
      persona_id   ${text} REFERENCES personas (id) DEFERRABLE,
      updated_at   ${int} NOT NULL,
      archived_at  ${int},
      UNIQUE (folder, label)
    )${clustered}`,

    `CREATE TABLE events (
      seq          ${sequence},
      xid          ${xid},
      at           ${int} NOT NULL,
      kind         ${text} NOT NULL,
      subject      ${text} NOT NULL,
      payload_json ${text} NOT NULL${eventKey}
    )${strict}`,
  ],
}
