import type { Migration } from '../migration.ts'

/**
 * Earlier versions replaced memories by comparing words, and hid true ones. Notes up to which number replacements are to
 * be reviewed; whoever opens the home next does that (memory/bring-back.ts), since words are not indexed by SQL.
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
