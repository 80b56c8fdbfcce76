import type { Migration } from '../../migration.ts'

/** Client dedupe keys get a prefix of their own: before, one could collide with a key of the engine. */
export const clientKeys: Migration = {
  id: 14,
  name: 'client keys',
  up: () => [
    `UPDATE inbox SET dedupe_key = 'c:owner:' || dedupe_key
     WHERE dedupe_key IS NOT NULL AND source = 'human' AND (kind = 'message' OR kind = 'steer')`,
  ],
}
