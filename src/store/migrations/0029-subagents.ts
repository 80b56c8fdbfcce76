import type { Migration } from '../migration.ts'
import { compatibilityViewQueries } from './compatibility-view-queries.ts'
import { oneOf } from './one-of.ts'

/** Sub-agents: their titles, how they share and when their sessions are tidied up, and whether a transcript was removed. */
export const subagents: Migration = {
  id: 29,
  name: 'subagents',
  up: ({ int, text }) => [
    `ALTER TABLE runs ADD COLUMN title ${text}`,
    `ALTER TABLE runs ADD COLUMN cleanup ${text} CHECK ${oneOf('cleanup', ['delete', 'keep'])}`,
    `ALTER TABLE runs ADD COLUMN share_mode ${text}
      CHECK ${oneOf('share_mode', ['isolated', 'handoff', 'inherit-readonly'])}`,
    `UPDATE runs SET title = coalesce(agent, 'general'), cleanup = 'keep', share_mode = 'handoff'
      WHERE via = 'sessions_spawn'`,
    // The newest sub-agents; those that a session started, the unfinished ones together.
    `CREATE INDEX runs_of_subagents ON runs (id) WHERE share_mode IS NOT NULL`,
    `CREATE INDEX runs_by_requester ON runs (requester_session_id, finished_at)
      WHERE requester_session_id IS NOT NULL`,

    // When a session is archived, or its transcript removed; null if neither is due.
    `ALTER TABLE sessions ADD COLUMN tidy_at ${int}`,
    `ALTER TABLE sessions ADD COLUMN removed_at ${int}`,
    `CREATE INDEX sessions_to_tidy ON sessions (tidy_at) WHERE tidy_at IS NOT NULL`,
  ],
  views: (types) => compatibilityViewQueries(types, { label: 'first.title' }),
}
