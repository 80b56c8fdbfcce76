import type { Migration } from '../migration.ts'

/** Finds the sessions of people in a folder, however many agents have worked there. */
export const sessionsByKind: Migration = {
  id: 30,
  name: 'sessions_by_kind',
  up: () => [`CREATE INDEX sessions_by_kind ON sessions (folder, kind) WHERE archived_at IS NULL`],
}
