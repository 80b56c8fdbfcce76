import type { Migration } from '../migration.ts'

/**
 * When files were made: what was replaced, and what a command left or found. A file keeps that time however it is renamed and changed,
 * so `why` can tell one that was moved from one that is only like it.
 */
export const fileBirths: Migration = {
  id: 45,
  name: 'file-births',
  up: ({ int }) => [
    `ALTER TABLE file_changes ADD COLUMN before_born_at ${int}`,
    `ALTER TABLE command_changes ADD COLUMN before_born_at ${int}`,
    `ALTER TABLE command_changes ADD COLUMN born_at ${int}`,
  ],
}
