import type { Migration } from '../migration.ts'

/**
 * Files that a command found in another state than the last one recorded: what was changed by hand in between.
 */
export const foundFiles: Migration = {
  id: 42,
  name: 'found-files',
  up: ({ int }) => [
    `ALTER TABLE command_changes ADD COLUMN found ${int} NOT NULL DEFAULT 0 CHECK (found = 0 OR found = 1)`,
  ],
}
