import type { Migration } from '../migration.ts'

/** Which session a narrative tells of, so that whoever tells on knows what was told; and which run began with it. */
export const narrator: Migration = {
  id: 9,
  name: 'narrator',
  up: ({ int, text, clustered }) => [
    `ALTER TABLE narratives ADD COLUMN session_id ${text}`,
    `CREATE INDEX narratives_by_session ON narratives (session_id, id) WHERE session_id IS NOT NULL`,
    // What a talk kept is found by its runs: a narrative of it rests on that.
    `CREATE INDEX memories_by_run ON memories (run_id) WHERE run_id IS NOT NULL`,
    `CREATE TABLE narrative_recalls (
      run_id       ${text} PRIMARY KEY NOT NULL REFERENCES runs (id) DEFERRABLE,
      narrative_id ${int} NOT NULL
    )${clustered}`,
    `CREATE INDEX narrative_recalls_by_narrative ON narrative_recalls (narrative_id)`,
  ],
}
