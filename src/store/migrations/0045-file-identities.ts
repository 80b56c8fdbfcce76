import type { Migration } from '../migration.ts'

/**
 * Identities of files: of what was replaced, and of what a command left or found. A file keeps its identity however it is renamed and
 * changed, so `why` can tell one that was moved from one that is only like it.
 */
export const fileIdentities: Migration = {
  id: 45,
  name: 'file-identities',
  up: ({ text }) => [
    `ALTER TABLE file_changes ADD COLUMN before_identity ${text}`,
    `ALTER TABLE command_changes ADD COLUMN before_identity ${text}`,
    `ALTER TABLE command_changes ADD COLUMN identity ${text}`,
  ],
}
