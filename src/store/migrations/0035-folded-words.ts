import type { Migration } from '../migration.ts'

/**
 * Words are folded in another way than before. Turns, results and written files get their words again from the search
 * index's own sweep. Those of memories and notes are replaced when the home is opened next (memory/refold-words.ts), since
 * SQL cannot fold words.
 */
export const foldedWords: Migration = {
  id: 35,
  name: 'folded words',
  up: () => [
    'DELETE FROM search_words',
    'UPDATE search_documents SET indexed = 0',
    `INSERT INTO meta (key, value)
     SELECT 'words_to_fold', '{"memories":0,"passages":0}'
     WHERE EXISTS (SELECT 1 FROM memories) OR EXISTS (SELECT 1 FROM passages)`,
    // What a run kept is looked for in the archive, too, when something is forgotten.
    'CREATE INDEX memories_archive_by_run ON memories_archive (run_id) WHERE run_id IS NOT NULL',
  ],
}
