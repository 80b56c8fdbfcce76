import type { Migration } from '../migration.ts'

/** When a memory was last said again; null if it was said once. What was said last stands first among the reminders. */
export const saidAgain: Migration = {
  id: 44,
  name: 'said-again',
  up: ({ int }) => [
    `ALTER TABLE memories ADD COLUMN said_at ${int}`,
    `ALTER TABLE memories_archive ADD COLUMN said_at ${int}`,
  ],
}
