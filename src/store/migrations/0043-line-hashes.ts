import type { Migration } from '../migration.ts'

/**
 * Of each version of a file the hashes of its lines, by which `why` finds the files that had a line, and times of the file system, by
 * which it tells a file that was moved from one that was written: of what was replaced, and of what a command left or found.
 */
export const lineHashes: Migration = {
  id: 43,
  name: 'line-hashes',
  up: ({ int, text }) => [
    `ALTER TABLE file_changes ADD COLUMN line_hashes ${text}`,
    `ALTER TABLE command_changes ADD COLUMN line_hashes ${text}`,
    `ALTER TABLE file_changes ADD COLUMN before_changed_at ${int}`,
    `ALTER TABLE file_changes ADD COLUMN before_modified_at ${int}`,
    `ALTER TABLE command_changes ADD COLUMN before_changed_at ${int}`,
    `ALTER TABLE command_changes ADD COLUMN before_modified_at ${int}`,
    `ALTER TABLE command_changes ADD COLUMN modified_at ${int}`,
  ],
}
