import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { ConstraintViolated } from '../failures.ts'
import type { Migration } from '../migration.ts'
import type { DatabaseLocation } from '../open.ts'
import { migrations, migrationsUpTo } from '../schema-version.ts'
import { isKeptDatabase, restoreFile, restoreKept } from '../sqlite/restore.ts'
import type { StoreContext } from '../store.ts'
import { damagedBackupError, readBackup } from './backup-file.ts'
import type { ReplacedDatabase } from './restore-rows.ts'

interface RestoreOptions {
  context: StoreContext
  migrations?: readonly Migration[]
}

export interface RestoreResult extends ReplacedDatabase {
  /** Size of the backup or restored file; null on a server. */
  bytes: number | null
  turns: number
  /** Command that restores the old database. */
  wayBack: string | null
}

/** Replaces a database by a backup, atomically. Each database accepts backups of the other. */
export async function restoreBackup(
  location: DatabaseLocation,
  file: string,
  { context, migrations: known = migrations }: RestoreOptions,
): Promise<RestoreResult> {
  if (location.kind === 'sqlite' && isKeptDatabase(file)) {
    const restored = await restoreKept(location.file, file, known, context)
    return { ...restored, wayBack: wayBack(restored.keptAside) }
  }
  const oldSchema = await findKeptSchema(location, file)
  if (location.kind === 'postgres' && oldSchema !== undefined) {
    const { restoreKeptSchema } = await postgresRestore()
    const restored = await restoreKeptSchema(location.url, oldSchema, known, context)
    return { bytes: null, ...restored, wayBack: wayBack(restored.keptAside) }
  }
  const backup = await readBackup(file)
  const steps = { first: migrationsUpTo(backup.header.schema, known, file), all: known }
  try {
    const replaced = await (location.kind === 'sqlite'
      ? restoreFile(location.file, backup, steps, context)
      : (await postgresRestore()).restoreServer(location.url, backup, steps, context))
    const turns = backup.rows.get('turns') ?? 0
    return { bytes: backup.bytes, turns, ...replaced, wayBack: wayBack(replaced.keptAside) }
  } catch (error) {
    throw error instanceof ConstraintViolated
      ? damagedBackupError(file, `it violates a constraint: ${error.message}`, error)
      : error
  }
}

/** Loaded when it is needed: most homes have no server. */
function postgresRestore() {
  return import('../postgres/restore.ts')
}

/** Command that restores the database that was moved aside: a file by its path, a schema by its name. */
function wayBack(keptAside: string | null): string | null {
  return keptAside === null ? null : `heddle restore '${keptAside}'`
}

/** Name of a schema that was moved aside, given on the command line as if it were a path. */
async function findKeptSchema(location: DatabaseLocation, file: string): Promise<string | undefined> {
  if (location.kind === 'sqlite' || existsSync(file)) return undefined
  const { isKeptSchema } = await postgresRestore()
  return (await isKeptSchema(location.url, basename(file))) ? basename(file) : undefined
}

/** Facts about a backup, for the confirmation of a restore. */
export async function readBackupFacts(
  location: DatabaseLocation,
  file: string,
): Promise<{ createdAt: string | null; turns: number | null }> {
  if (isKeptDatabase(file) || (await findKeptSchema(location, file)) !== undefined)
    return { createdAt: null, turns: null }
  const { header, rows } = await readBackup(file)
  return { createdAt: header.createdAt, turns: rows.get('turns') ?? 0 }
}
