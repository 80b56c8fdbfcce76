import type { Migration } from '../migration.ts'

/**
 * Files that commands changed, as the surveys around each command saw them, and which lines of a file's version are of the
 * version before it: the author of a line is found without any content.
 */
export const commandChanges: Migration = {
  id: 37,
  name: 'command-changes',
  up: ({ int, text, sequenceKey, strict }) => [
    `ALTER TABLE file_changes ADD COLUMN line_map ${text}`,
    `CREATE INDEX file_changes_by_content ON file_changes (after_hash)`,
    // A hash is empty where the content was not read; follows is the newest row of file_changes at that time.
    `CREATE TABLE command_changes (
      id          ${sequenceKey},
      run_id      ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      call_id     ${text} NOT NULL,
      folder      ${text} NOT NULL,
      path        ${text} NOT NULL,
      before_hash ${text},
      after_hash  ${text},
      origin_path ${text},
      origin_hash ${text},
      line_map    ${text},
      follows     ${int} NOT NULL,
      since       ${int} NOT NULL,
      at          ${int} NOT NULL,
      CHECK ((origin_path IS NULL) = (origin_hash IS NULL))
    )${strict}`,
    `CREATE INDEX command_changes_by_run ON command_changes (run_id)`,
    `CREATE INDEX command_changes_by_path ON command_changes (folder, path, id)`,
    `CREATE INDEX command_changes_by_content ON command_changes (after_hash)`,
  ],
}
