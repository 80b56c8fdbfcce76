import type { Migration } from '../migration.ts'

/**
 * The search index of turns, results and files that runs wrote. All of it can be rebuilt. What there is already gets its row
 * here and its words later, in the background: an upgrade does not wait for them.
 */
export const searchTables: Migration = {
  id: 31,
  name: 'search',
  up: ({ int, text, sequenceKey, clustered, strict }) => [
    // The number orders documents by time; an owner's document has no principal.
    `CREATE TABLE search_documents (
      id         ${sequenceKey},
      kind       ${text} NOT NULL CHECK (kind = 'turn' OR kind = 'result' OR kind = 'file'),
      ref        ${text} NOT NULL,
      run_id     ${text},
      session_id ${text},
      principal  ${text} CHECK (principal <> 'owner'),
      at         ${int} NOT NULL,
      indexed    ${int} NOT NULL DEFAULT 0 CHECK (indexed IN (0, 1))
    )${strict}`,
    `CREATE INDEX search_documents_unindexed ON search_documents (id) WHERE indexed = 0`,
    // Partial, so that the transaction that adds a turn does not write to it.
    `CREATE INDEX search_documents_by_session ON search_documents (session_id, id) WHERE indexed = 1`,
    `CREATE INDEX search_documents_by_principal ON search_documents (principal) WHERE principal IS NOT NULL`,
    // There is no index by document: a document's words are known from its text when it is removed.
    `CREATE TABLE search_words (
      word        ${text} NOT NULL,
      document_id ${int} NOT NULL,
      kind        ${int} NOT NULL,
      principal   ${text},
      PRIMARY KEY (word, document_id)
    )${clustered}`,
    `CREATE INDEX search_words_by_principal ON search_words (principal, word, document_id, kind)
      WHERE principal IS NOT NULL`,
    `CREATE TABLE search_files (
      id         ${sequenceKey},
      path       ${text} NOT NULL UNIQUE,
      folder     ${text} NOT NULL,
      size       ${int} NOT NULL,
      changed_at ${int} NOT NULL,
      hash       ${text} NOT NULL,
      look_at    ${int} NOT NULL
    )${strict}`,
    `CREATE INDEX search_files_due ON search_files (look_at)`,
    `CREATE TABLE search_passages (
      document_id ${int} NOT NULL PRIMARY KEY,
      file_id     ${int} NOT NULL,
      line        ${int} NOT NULL,
      heading     ${text},
      text        ${text} NOT NULL,
      digest      ${text} NOT NULL
    )${strict}`,
    `CREATE INDEX search_passages_by_file ON search_passages (file_id)`,
    `INSERT INTO search_documents (kind, ref, run_id, session_id, principal, at)
      SELECT kind, ref, run_id, session_id, nullif(principal, 'owner'), at FROM (
        SELECT 'turn' AS kind, turns.id AS ref, turns.run_id, sessions.id AS session_id,
          coalesce(sessions.principal_id, runs.principal) AS principal, turns.timestamp AS at
        FROM turns JOIN runs ON runs.id = turns.run_id LEFT JOIN sessions ON sessions.id = runs.session_id
        WHERE runs.via <> 'narrator' AND sessions.removed_at IS NULL AND coalesce(sessions.kind, 'person') <> 'narrator'
        UNION ALL
        SELECT 'result', CAST(agent_results.id AS TEXT), agent_results.run_id, sessions.id,
          coalesce(sessions.principal_id, runs.principal), agent_results.created_at
        FROM agent_results JOIN runs ON runs.id = agent_results.run_id
        LEFT JOIN sessions ON sessions.id = runs.session_id
        WHERE runs.via <> 'narrator'
      ) AS found ORDER BY at`,
    `INSERT INTO search_files (path, folder, size, changed_at, hash, look_at)
      SELECT CASE folder WHEN '/' THEN '/' || path ELSE folder || '/' || path END, min(folder), -1, max(at), '', 0
      FROM file_changes GROUP BY CASE folder WHEN '/' THEN '/' || path ELSE folder || '/' || path END`,
  ],
}
