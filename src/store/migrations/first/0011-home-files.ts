import type { Migration } from '../../migration.ts'

/** Passages of the user's files in the home, searched like memories. All of it can be rebuilt. */
export const homeFileTables: Migration = {
  id: 11,
  name: 'home-files',
  up: ({ int, text, real, sequenceKey, clustered, strict }) => [
    `CREATE TABLE home_files (
      id          ${sequenceKey},
      path        ${text} NOT NULL UNIQUE,
      size        ${int} NOT NULL,
      modified_at ${int} NOT NULL,
      hash        ${text} NOT NULL,
      passages    ${int} NOT NULL CHECK (passages >= 0),
      indexed_at  ${int} NOT NULL
    )${strict}`,
    // The digest of text and heading identifies passages that a change of the file left alone.
    `CREATE TABLE passages (
      id      ${sequenceKey},
      file_id ${int} NOT NULL REFERENCES home_files (id) DEFERRABLE,
      line    ${int} NOT NULL,
      heading ${text},
      text    ${text} NOT NULL,
      digest  ${text} NOT NULL
    )${strict}`,
    `CREATE INDEX passages_by_file ON passages (file_id)`,
    `CREATE TABLE passage_words (
      word       ${text} NOT NULL,
      passage_id ${int} NOT NULL,
      hits       ${int} NOT NULL,
      PRIMARY KEY (word, passage_id)
    )${clustered}`,
    `CREATE INDEX passage_words_by_passage ON passage_words (passage_id)`,
    // Position at the time of the recall: the file may have changed since, and the passage id be gone.
    `CREATE TABLE passage_recalls (
      run_id     ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      passage_id ${int} NOT NULL,
      path       ${text} NOT NULL,
      line       ${int} NOT NULL,
      rank       ${real} NOT NULL,
      words      ${text} NOT NULL,
      PRIMARY KEY (run_id, passage_id)
    )${clustered}`,
  ],
}
