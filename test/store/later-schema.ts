import type { Migration } from '../../src/store/migration.ts'
import { migrations } from '../../src/store/schema-version.ts'

const now = migrations.at(-1)?.id ?? 0

/** What a later heddle may know: a new table filled from old rows, and a new column. */
export const laterMigrations: readonly Migration[] = [
  ...migrations,
  {
    id: now + 1,
    name: 'marks',
    up: ({ int, text, strict }) => [
      `CREATE TABLE marks (
        id      ${text} PRIMARY KEY,
        turn_id ${text} NOT NULL REFERENCES turns (id) DEFERRABLE,
        at      ${int} NOT NULL
      )${strict}`,
      `INSERT INTO marks (id, turn_id, at) SELECT 'mark-' || id, id, timestamp FROM turns`,
      `CREATE INDEX marks_by_turn ON marks (turn_id)`,
    ],
  },
  {
    id: now + 2,
    name: 'colours',
    up: ({ text }) => [
      `ALTER TABLE sessions ADD COLUMN colour ${text}`,
      `UPDATE sessions SET colour = 'green'`,
      `CREATE INDEX sessions_by_colour ON sessions (colour)`,
    ],
  },
]

export const schemaNow = now
export const schemaLater = now + 2
