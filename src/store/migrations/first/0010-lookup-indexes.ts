import type { Migration } from '../../migration.ts'

/** Lookup indexes for `heddle why`. None is written in the commit of a plain turn. */
export const lookupIndexes: Migration = {
  id: 10,
  name: 'finding',
  up: ({ text, clustered }) => [
    // Ids by their last characters, indexed a day after they were created; see store/rows/id-tails.ts.
    `CREATE TABLE id_tails (
      tail ${text} NOT NULL,
      id   ${text} NOT NULL,
      PRIMARY KEY (tail, id)
    )${clustered}`,
    // Few runs ever wait or fall back to another model: only these events are indexed.
    `CREATE INDEX events_of_pauses ON events (subject) WHERE kind IN ('run.waiting', 'run.fallback')`,
    `CREATE INDEX narratives_by_previous ON narratives (previous_narrative_id) WHERE previous_narrative_id IS NOT NULL`,
    `CREATE INDEX narratives_by_run ON narratives (run_id) WHERE run_id IS NOT NULL`,
    `CREATE INDEX narratives_by_turn ON narratives (turn_id) WHERE turn_id IS NOT NULL`,
    `CREATE INDEX memories_archive_superseded ON memories_archive (superseded_by) WHERE superseded_by IS NOT NULL`,
  ],
}
