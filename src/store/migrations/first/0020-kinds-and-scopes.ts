import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/**
 * Who a session is for, as a column; until now it was read out of the label's text, and is here for the last time. Events
 * name the session and the request that they are about. Indexed files name their home: several may share a database.
 */
export const kindsAndScopes: Migration = {
  id: 20,
  name: 'kinds_and_scopes',
  up: ({ text }) => [
    `ALTER TABLE sessions ADD COLUMN kind ${text} NOT NULL DEFAULT 'person'
      CHECK ${oneOf('kind', ['person', 'agent', 'narrator', 'cron', 'hook'])}`,
    `ALTER TABLE sessions ADD COLUMN narrates_id ${text} CHECK (narrates_id IS NULL OR kind = 'narrator')`,
    // An imported narrator session summarises a session that is not here: it is only an agent's.
    `UPDATE sessions SET kind = 'narrator', narrates_id = substr(label, 24)
      WHERE substr(label, 1, 23) = 'agent:narrator:session:' AND EXISTS (
        SELECT 1 FROM sessions AS talk WHERE talk.id = substr(sessions.label, 24) AND talk.folder = sessions.folder
      )`,
    `UPDATE sessions SET kind = 'agent'
      WHERE kind = 'person' AND substr(label, 1, 6) = 'agent:'
        AND (replace(label, ':subagent:', '') <> label OR replace(label, ':session:', '') <> label)`,
    `CREATE UNIQUE INDEX sessions_by_narrated ON sessions (narrates_id) WHERE narrates_id IS NOT NULL`,

    `ALTER TABLE events ADD COLUMN session_id ${text}`,
    `ALTER TABLE events ADD COLUMN root_run_id ${text}`,
    `UPDATE events SET
      session_id = (SELECT session_id FROM runs WHERE runs.id = substr(events.subject, 5)),
      root_run_id = (SELECT root_run_id FROM runs WHERE runs.id = substr(events.subject, 5))
      WHERE substr(subject, 1, 4) = 'run:'`,
    `UPDATE events SET
      session_id = (SELECT runs.session_id FROM turns JOIN runs ON runs.id = turns.run_id
                    WHERE turns.id = substr(events.subject, 6)),
      root_run_id = (SELECT runs.root_run_id FROM turns JOIN runs ON runs.id = turns.run_id
                     WHERE turns.id = substr(events.subject, 6))
      WHERE kind = 'turn.added'`,

    // Empty for a home that has the database for itself. The paths of others begin with their id, since paths are unique.
    `ALTER TABLE home_files ADD COLUMN home ${text} NOT NULL DEFAULT ''`,
    `CREATE INDEX home_files_by_home ON home_files (home, path)`,
  ],
}
