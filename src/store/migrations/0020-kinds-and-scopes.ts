import type { Migration } from '../migration.ts'
import { oneOf } from './one-of.ts'

/** Who a session is for, as a column; until now it was read out of the label's text, and is here for the last time. */
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
  ],
}
