import { damaged, readBackup } from './backup-file.ts'
import { ConstraintViolated } from './failures.ts'
import type { Migration } from './migration.ts'
import type { Place } from './open.ts'
import { schemaOf, shownUrl } from './postgres-store.ts'
import { restoreServer } from './restore-postgres.ts'
import { isKeptDatabase, restoreFile, restoreKept } from './restore-sqlite.ts'
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
  /** The command that puts it back. */
  wayBack: string | null
}

/** Puts the content of a backup in the place of a database, whole or not at all. Either database takes the backup of the other. */
export async function restoreBackup(
  place: Place,
  file: string,
  { context, migrations: known = migrations }: RestoreOptions,
): Promise<Restored> {
  if (place.kind === 'sqlite' && isKeptDatabase(file)) {
    const restored = await restoreKept(place.file, file, known, context)
    return { ...restored, wayBack: wayBack(place, restored.keptAside) }
  }
  const backup = await readBackup(file)
  const steps = { first: migrationsUpTo(backup.header.schema, known, file), all: known }
  try {
    const keptAside = await (place.kind === 'sqlite'
      ? restoreFile(place.file, backup, steps, context)
      : restoreServer(place.url, backup, steps, context))
    return { bytes: backup.bytes, turns: backup.rows.get('turns') ?? 0, keptAside, wayBack: wayBack(place, keptAside) }
  } catch (error) {
    throw error instanceof ConstraintViolated ? damaged(file, `it breaks a rule: ${error.message}`, error) : error
  }
}

/** A file that was kept aside is restored like a backup; a schema is renamed. */
function wayBack(place: Place, keptAside: string | null): string | null {
  if (keptAside === null) return null
  if (place.kind === 'sqlite') return `heddle restore '${keptAside}'`
  const schema = schemaOf(place.url)
  const renamed = `ALTER SCHEMA "${schema}" RENAME TO "${keptAside}_undone"; ALTER SCHEMA "${keptAside}" RENAME TO "${schema}"`
  return `psql '${shownUrl(place.url)}' -c '${renamed}'`
}

/** What a restore is about to do, for whoever decides about it. */
export async function readBackupFacts(file: string): Promise<{ createdAt: string | null; turns: number | null }> {
  if (isKeptDatabase(file)) return { createdAt: null, turns: null }
  const { header, rows } = await readBackup(file)
  return { createdAt: header.createdAt, turns: rows.get('turns') ?? 0 }
}
