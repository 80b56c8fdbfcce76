import type { Migration } from '../migration.ts'

/** Hashes of the lines of each version of a file, by which `why` finds the files that had a line. */
export const lineHashes: Migration = {
  id: 43,
  name: 'line-hashes',
  up: ({ text }) => [
    `ALTER TABLE file_changes ADD COLUMN line_hashes ${text}`,
    `ALTER TABLE command_changes ADD COLUMN line_hashes ${text}`,
  ],
}
