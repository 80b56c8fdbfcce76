import { HeddleError } from '../domain/errors.ts'
import type { Migration } from './migration.ts'
import { tree } from './migrations/0001-tree.ts'
import { runs } from './migrations/0002-runs.ts'
import { compaction } from './migrations/0003-compaction.ts'
import { arrival } from './migrations/0004-arrival.ts'
import { hands } from './migrations/0005-hands.ts'
import { plans } from './migrations/0006-plans.ts'
import { memory } from './migrations/0007-memory.ts'
import { requestTotals } from './migrations/0008-request-totals.ts'
import { narrator } from './migrations/0009-narrator.ts'
import { finding } from './migrations/0010-finding.ts'
import { homeFiles } from './migrations/0011-home-files.ts'
import { meaning } from './migrations/0012-meaning.ts'
import { approvals } from './migrations/0013-approvals.ts'
import { clientKeys } from './migrations/0014-client-keys.ts'
import { replacedMemories } from './migrations/0015-replaced-memories.ts'
import { money } from './migrations/0016-money.ts'

/** Every step of the schema, in order. */
export const migrations: readonly Migration[] = [
  tree,
  runs,
  compaction,
  arrival,
  hands,
  plans,
  memory,
  requestTotals,
  narrator,
  finding,
  homeFiles,
  meaning,
  approvals,
  clientKeys,
  replacedMemories,
  money,
]

/** The migrations that a database at this version still lacks; refuses one that a newer program has changed. */
export function missingMigrations(version: number, known: readonly Migration[], place: string): Migration[] {
  if (version > newest(known))
    throw new HeddleError(
      'schema_newer',
      `${place} was written by a newer heddle (schema ${version}; this one knows ${newest(known)})`,
      'use that newer version, or go back with: heddle restore FILE (a backup was made before the upgrade)',
    )
  return known.filter(({ id }) => id > version)
}

/** The migrations that lead to the schema of a backup; refuses one that only a newer program knows. */
export function migrationsUpTo(version: number, known: readonly Migration[], backup: string): Migration[] {
  if (version > newest(known))
    throw new HeddleError(
      'schema_newer',
      `${backup} was written by a newer heddle (schema ${version}; this one knows ${newest(known)})`,
      'restore it with that newer version; nothing was changed',
    )
  return known.filter(({ id }) => id <= version)
}

function newest(known: readonly Migration[]): number {
  return known.at(-1)?.id ?? 0
}
