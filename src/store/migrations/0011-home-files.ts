import type { Migration } from '../migration.ts'

/** What the owner wrote into the home, in passages that are found as memories are. All of it can be made anew. */
export const homeFiles: Migration = {
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
    // Of a text and its heading the digest is kept as well: what a change left alone is known by it.
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
    // Where a run was shown it: the file may say something else by now, and then its number is gone.
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
