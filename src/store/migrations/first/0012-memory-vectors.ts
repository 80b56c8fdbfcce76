import type { Migration } from '../../migration.ts'

/** Embedding vectors of memories. Both tables stay empty without an embedder. */
export const memoryVectorTables: Migration = {
  id: 12,
  name: 'meaning',
  up: ({ int, text, sequenceKey, strict }) => [
    `CREATE TABLE embedders (
      id         ${sequenceKey},
      name       ${text} NOT NULL UNIQUE,
      dimensions ${int} NOT NULL CHECK (dimensions > 0),
      yardstick  ${text} NOT NULL,
      used_at    ${int} NOT NULL
    )${strict}`,
    // `seq` is in commit order: a reader that has seen one has seen all before it.
    `CREATE TABLE memory_vectors (
      seq         ${sequenceKey},
      embedder_id ${int} NOT NULL REFERENCES embedders (id) DEFERRABLE,
      memory_id   ${int} NOT NULL,
      vector      ${text} NOT NULL,
      UNIQUE (memory_id, embedder_id)
    )${strict}`,
    `CREATE INDEX memory_vectors_by_embedder ON memory_vectors (embedder_id, seq)`,
  ],
}
