import type { Migration } from '../migration.ts'

/**
 * Files whose content a run wrote that had read untrusted content, and commands of such runs whose changes were not all
 * seen. Untrusted memories get the highest score that they may have from now on.
 */
export const untrustedFiles: Migration = {
  id: 25,
  name: 'untrusted files',
  up: ({ int, text, clustered, strict }) => [
    // sha256 is '' for a content that was too large to be read.
    `CREATE TABLE untrusted_files (
      path         ${text} NOT NULL,
      sha256       ${text} NOT NULL,
      sources_json ${text} NOT NULL,
      created      ${int} NOT NULL CHECK (created IN (0, 1)),
      run_id       ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      at           ${int} NOT NULL,
      PRIMARY KEY (path, sha256)
    )${clustered}`,
    `CREATE INDEX untrusted_files_by_content ON untrusted_files (sha256)`,

    // until is null while the command is under way; if its process died, it lasted until its run's end.
    `CREATE TABLE untrusted_commands (
      run_id       ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      call_id      ${text} NOT NULL,
      folder       ${text} NOT NULL,
      sources_json ${text} NOT NULL,
      since        ${int} NOT NULL,
      until        ${int},
      PRIMARY KEY (run_id, call_id)
    )${strict}`,
    `CREATE INDEX untrusted_commands_by_folder ON untrusted_commands (folder)`,

    `INSERT INTO untrusted_files (path, sha256, sources_json, created, run_id, at)
       SELECT file_changes.folder || '/' || file_changes.path, after_hash, min(runs.sources_json),
              max(CASE WHEN before_hash IS NULL THEN 1 ELSE 0 END), max(runs.id), max(file_changes.at)
         FROM file_changes JOIN runs ON runs.id = file_changes.run_id
        WHERE runs.integrity = 'untrusted' AND after_hash IS NOT NULL
        GROUP BY file_changes.folder || '/' || file_changes.path, after_hash`,
    `UPDATE memories SET score = 1 WHERE integrity = 'untrusted' AND score > 1`,
    `UPDATE memories_archive SET score = 1 WHERE integrity = 'untrusted' AND score > 1`,
  ],
}
