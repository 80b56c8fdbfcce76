import type { Migration } from '../../migration.ts'

/**
 * Earlier versions replaced memories by comparing words, and hid true ones. Records up to which id replacements must be
 * reviewed; the next process that opens the home does it (memory/bring-back.ts), since SQL cannot index words.
 */
export const replacedMemories: Migration = {
  id: 15,
  name: 'replaced memories',
  up: () => [
    `INSERT INTO meta (key, value)
     SELECT 'replaced_to_review', '{"upTo":' || newest || '}' FROM (
       SELECT max(superseded_by) AS newest FROM (
         SELECT superseded_by FROM memories WHERE forgotten_at IS NULL
         UNION ALL
         SELECT superseded_by FROM memories_archive WHERE forgotten_at IS NULL
       ) AS replaced
     ) AS last
     WHERE newest IS NOT NULL`,
  ],
}
