import type { Migration } from '../migration.ts'

/** Words such as `PDFExport` are split: words are replaced as by `foldedWords`, which may not have been done yet. */
export const splitCapitals: Migration = {
  id: 46,
  name: 'split capitals',
  up: () => [
    'DELETE FROM search_words',
    'UPDATE search_documents SET indexed = 0',
    "DELETE FROM meta WHERE key = 'words_to_fold'",
    `INSERT INTO meta (key, value)
     SELECT 'words_to_fold', '{"memories":0,"passages":0}'
     WHERE EXISTS (SELECT 1 FROM memories) OR EXISTS (SELECT 1 FROM passages)`,
  ],
}
