import type { Migration } from '../../migration.ts'

/** The session of a narrative, so that the next one continues it, and the runs that were given it. */
export const narrator: Migration = {
  id: 9,
  name: 'narrator',
  up: ({ int, text, clustered }) => [
    `ALTER TABLE narratives ADD COLUMN session_id ${text}`,
    `CREATE INDEX narratives_by_session ON narratives (session_id, id) WHERE session_id IS NOT NULL`,
    // A narrative cites the memories that runs of its session created.
    `CREATE INDEX memories_by_run ON memories (run_id) WHERE run_id IS NOT NULL`,
    `CREATE TABLE narrative_recalls (
      run_id       ${text} PRIMARY KEY NOT NULL REFERENCES runs (id) DEFERRABLE,
      narrative_id ${int} NOT NULL
    )${clustered}`,
    `CREATE INDEX narrative_recalls_by_narrative ON narrative_recalls (narrative_id)`,
  ],
}
