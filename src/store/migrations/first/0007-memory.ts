import type { Migration } from '../../migration.ts'

/** Memories with their provenance; the word index is a plain table, the same on both databases. */
export const memory: Migration = {
  id: 7,
  name: 'memory',
  up: ({ int, text, real, sequenceKey, clustered, strict }) => {
    const columns = `
      content       ${text} NOT NULL,
      tags_json     ${text} NOT NULL,
      keywords_json ${text} NOT NULL,
      score         ${int} NOT NULL,
      source        ${text} NOT NULL,
      integrity     ${text} NOT NULL,
      sources_json  ${text} NOT NULL,
      run_id        ${text},
      turn_id       ${text},
      task_id       ${int},
      result_id     ${int},
      narrative_id  ${int},
      created_at    ${int} NOT NULL,
      recalled_at   ${int} NOT NULL,
      superseded_by ${int},
      forgotten_at  ${int}`
    return [
      `CREATE TABLE memories (id ${sequenceKey}, ${columns})${strict}`,
      `CREATE INDEX memories_by_result ON memories (result_id) WHERE result_id IS NOT NULL`,
      `CREATE INDEX memories_by_turn ON memories (turn_id) WHERE turn_id IS NOT NULL`,
      `CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL`,
      // Memories that were not recalled for long: excluded from search, with their old ids.
      `CREATE TABLE memories_archive (id ${int} NOT NULL PRIMARY KEY, ${columns})${strict}`,
      `CREATE TABLE memory_words (
        word      ${text} NOT NULL,
        memory_id ${int} NOT NULL,
        hits      ${int} NOT NULL,
        PRIMARY KEY (word, memory_id)
      )${clustered}`,
      `CREATE INDEX memory_words_by_memory ON memory_words (memory_id)`,
      // Memories that a run was given, and the words that matched.
      `CREATE TABLE memory_recalls (
        run_id    ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
        memory_id ${int} NOT NULL,
        rank      ${real} NOT NULL,
        words     ${text} NOT NULL,
        PRIMARY KEY (run_id, memory_id)
      )${clustered}`,
      `CREATE INDEX memory_recalls_by_memory ON memory_recalls (memory_id)`,
      `CREATE TABLE narratives (
        id                    ${sequenceKey},
        summary               ${text} NOT NULL,
        topic                 ${text},
        folder                ${text} NOT NULL,
        memory_ids            ${text} NOT NULL,
        previous_narrative_id ${int} REFERENCES narratives (id) DEFERRABLE,
        run_id                ${text},
        turn_id               ${text},
        integrity             ${text} NOT NULL,
        sources_json          ${text} NOT NULL,
        created_at            ${int} NOT NULL
      )${strict}`,
      `CREATE INDEX narratives_by_folder ON narratives (folder, id)`,
    ]
  },
}
