import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/**
 * Approvals with facts and the state of the folder; grants as structured rows; folders in which calls changed files.
 */
export const approvals: Migration = {
  id: 13,
  name: 'approvals',
  up: ({ int, text }) => [
    `ALTER TABLE approvals ADD COLUMN facts_json ${text} NOT NULL DEFAULT '[]'`,
    `ALTER TABLE approvals ADD COLUMN coverage_json ${text}`,
    `ALTER TABLE approvals ADD COLUMN asked_again ${int} NOT NULL DEFAULT 0`,
    `ALTER TABLE approvals ADD COLUMN baseline ${text}`,

    `ALTER TABLE grants ADD COLUMN cwd ${text} NOT NULL DEFAULT ''`,
    `ALTER TABLE grants ADD COLUMN confinement ${text} CHECK ${oneOf('confinement', ['sandbox', 'network', 'none'])}`,
    `ALTER TABLE grants ADD COLUMN lapsed_why ${text}`,
    // Patterns are as long as commands: no index holds them.
    `DROP INDEX grants_by_pattern`,
    `CREATE INDEX grants_standing ON grants (tool) WHERE revoked_at IS NULL`,
    `UPDATE grants SET cwd = folder`,
    // Their text does not separate the directory from the command.
    `UPDATE grants SET revoked_at = created_at, lapsed_why = 'an earlier version did not keep what it covers exactly'
      WHERE tool = 'exec' AND revoked_at IS NULL`,
    `UPDATE grants SET tool = 'write_file', pattern = '{"path":"**"}' WHERE pattern = 'writing files in this folder'`,
    // The others were stored as tool name, space, input.
    `UPDATE grants SET pattern = '{"input":' || substr(pattern, length(tool) + 2) || '}'
      WHERE tool <> 'exec' AND pattern <> '{"path":"**"}'`,

    `ALTER TABLE steps ADD COLUMN touched_folder ${text}`,
    `CREATE INDEX steps_that_touched ON steps (touched_folder, at) WHERE touched_folder IS NOT NULL`,
    `CREATE INDEX file_changes_by_folder ON file_changes (folder, at)`,
  ],
}
