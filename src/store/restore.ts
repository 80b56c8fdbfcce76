import { damaged, readBackup } from './backup-file.ts'
import { ConstraintViolated } from './failures.ts'
import type { Migration } from './migration.ts'
import type { Place } from './open.ts'
import { restoreServer } from './restore-postgres.ts'
import { restoreFile } from './restore-sqlite.ts'
import { migrations, migrationsUpTo } from './schema-version.ts'
import type { StoreContext } from './store.ts'

export interface RestoreOptions {
  context: StoreContext
  migrations?: readonly Migration[]
}

export interface Restored {
  bytes: number
  turns: number
  /** Where what was there before is kept; null when there was nothing. It is never deleted. */
  keptAside: string | null
}

/** Puts the content of a backup in the place of a database, whole or not at all. Either database takes the backup of the other. */
export async function restoreBackup(
  place: Place,
  file: string,
  { context, migrations: known = migrations }: RestoreOptions,
): Promise<Restored> {
  const backup = await readBackup(file)
  const steps = { first: migrationsUpTo(backup.header.schema, known, file), all: known }
  try {
    const keptAside = await (place.kind === 'sqlite'
      ? restoreFile(place.file, backup, steps, context)
      : restoreServer(place.url, backup, steps, context))
    return { bytes: backup.bytes, turns: backup.rows.get('turns') ?? 0, keptAside }
  } catch (error) {
    throw error instanceof ConstraintViolated ? damaged(file, `it breaks a rule: ${error.message}`, error) : error
  }
}
