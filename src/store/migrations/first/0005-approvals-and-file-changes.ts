import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/** Approvals, grants and file changes. */
export const approvalsAndFileChanges: Migration = {
  id: 5,
  name: 'hands',
  up: ({ int, text, sequenceKey, clustered, strict }) => [
    // A tool call that waits for an answer, frozen as it was shown.
    `CREATE TABLE approvals (
      id            ${sequenceKey},
      run_id        ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      call_id       ${text} NOT NULL,
      tool          ${text} NOT NULL,
      input_json    ${text} NOT NULL,
      change_text   ${text} NOT NULL,
      reason        ${text} NOT NULL,
      hash          ${text} NOT NULL,
      pattern       ${text} NOT NULL,
      integrity     ${text} NOT NULL,
      sources_json  ${text} NOT NULL,
      asked_at      ${int} NOT NULL,
      answer        ${text} CHECK ${oneOf('answer', ['once', 'session', 'agent', 'no'])},
      answer_reason ${text},
      answered_at   ${int},
      UNIQUE (run_id, call_id),
      CHECK ((answer IS NULL) = (answered_at IS NULL))
    )${strict}`,
    `CREATE INDEX approvals_open ON approvals (run_id) WHERE answer IS NULL`,

    // An answer that covers more than one call, until it is revoked.
    `CREATE TABLE grants (
      id          ${sequenceKey},
      scope       ${text} NOT NULL CHECK ${oneOf('scope', ['session', 'agent'])},
      session_id  ${text} REFERENCES sessions (id) DEFERRABLE,
      agent       ${text} NOT NULL,
      folder      ${text} NOT NULL,
      tool        ${text} NOT NULL,
      pattern     ${text} NOT NULL,
      approval_id ${int} NOT NULL,
      created_at  ${int} NOT NULL,
      revoked_at  ${int},
      CHECK ((scope = 'session') = (session_id IS NOT NULL))
    )${strict}`,
    `CREATE INDEX grants_by_pattern ON grants (pattern) WHERE revoked_at IS NULL`,

    // Written before the file is: its hashes before and after the change.
    `CREATE TABLE file_changes (
      id          ${sequenceKey},
      run_id      ${text} REFERENCES runs (id) DEFERRABLE,
      call_id     ${text},
      folder      ${text} NOT NULL,
      path        ${text} NOT NULL,
      before_hash ${text},
      after_hash  ${text},
      mode        ${int},
      at          ${int} NOT NULL,
      undone_at   ${int}
    )${strict}`,
    `CREATE INDEX file_changes_by_run ON file_changes (run_id)`,
    `CREATE INDEX file_changes_by_path ON file_changes (folder, path, id)`,
    // Old file contents, compressed and deduplicated by hash.
    `CREATE TABLE file_contents (
      hash   ${text} PRIMARY KEY,
      bytes  ${int} NOT NULL,
      packed ${text} NOT NULL
    )${clustered}`,
  ],
}
