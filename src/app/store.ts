import { existsSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { crashAt } from '../domain/crash-points.ts'
import { HeddleError } from '../domain/errors.ts'
import type { HomePaths } from '../home/home.ts'
import { noteDatabase, refusalIfMissing } from '../home/known-databases.ts'
import { backupBeforeUpgrade } from '../store/backup/backup.ts'
import { examineDatabase } from '../store/backup/examine.ts'
import { type RestoreResult, readBackupFacts, restoreBackup } from '../store/backup/restore.ts'
import { type DatabaseLocation, databaseName, openStore, printableLocation } from '../store/open.ts'
import type { Store, StoreContext } from '../store/store.ts'
import { systemClock, systemRandom } from '../system.ts'
import { version } from '../version.ts'

/** Settings that locate a home's database. */
export interface StoreSettings {
  /** `paths.config` is the file that was really read. */
  paths: HomePaths
  config: Pick<Config, 'database' | 'durability'>
  env: NodeJS.ProcessEnv
  /** Receives messages for the user, such as a schema upgrade. */
  tell?(text: string): void
  context?: Partial<StoreContext>
}

/** Opens the home's database: creates it, upgrades it after a backup, or refuses if it is missing. */
export async function openHomeStore(settings: StoreSettings, context: StoreContext): Promise<Store> {
  const { paths, tell } = settings
  const place = databaseLocation(settings)
  const store = await openStore(place, context, {
    refusalIfMissing: () => refusalIfMissing(paths, databaseName(place), printableLocation(place)),
    async beforeUpgrade(before, from, to) {
      const file = await backupBeforeUpgrade(before, paths.backups, from, backupOptions(context))
      tell?.(`upgrading the schema from ${from} to ${to}; to go back: heddle restore ${file}`)
    },
  })
  await noteDatabase(paths, databaseName(place))
  return store
}

/** The error with which this home refuses to open because its database file is gone; undefined if it is not gone. */
export async function missingDatabase({
  paths,
  config,
}: Pick<StoreSettings, 'paths' | 'config'>): Promise<HeddleError | undefined> {
  const place = databaseLocation({ paths, config })
  if (place.kind !== 'sqlite' || existsSync(place.file)) return undefined
  return refusalIfMissing(paths, databaseName(place), printableLocation(place))
}

/**
 * Opens the home's database without creating or upgrading it; undefined if there is none yet, and undefined with a notice
 * if it cannot be used.
 */
export async function openExistingStore(
  settings: Pick<StoreSettings, 'paths' | 'config' | 'tell'>,
  context: StoreContext,
): Promise<Store | undefined> {
  const none = new HeddleError('no_database', 'no database yet', 'heddle ask creates it')
  try {
    return await openStore(databaseLocation(settings), context, {
      refusalIfMissing: async () => none,
      async beforeUpgrade() {
        throw new HeddleError('schema_older', 'the database needs an upgrade', 'heddle ask upgrades it')
      },
    })
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error
    if (error !== none) settings.tell?.(`not counted in usage: ${error.message}`)
    return undefined
  }
}

/** Restores a backup; keeps the old data. */
export async function restoreApp(settings: StoreSettings, file: string): Promise<RestoreResult> {
  const place = databaseLocation(settings)
  const restored = await restoreBackup(place, file, { context: contextOf(settings) })
  await noteDatabase(settings.paths, databaseName(place))
  return restored
}

/** Describes what a restore would replace, and with what; throws if the file is no backup. */
export async function restoreFacts(settings: StoreSettings, file: string) {
  const place = databaseLocation(settings)
  const { bytes } = await examineDatabase(place).catch(() => ({ bytes: null }))
  return { place: printableLocation(place), bytes, ...(await readBackupFacts(place, file)) }
}

/** Location of a home's database. */
export function databaseLocation({ paths, config }: Pick<StoreSettings, 'paths' | 'config'>): DatabaseLocation {
  return config.database === 'sqlite'
    ? { kind: 'sqlite', file: paths.database, durability: config.durability }
    : { kind: 'postgres', url: config.database }
}

export function contextOf({ env, context }: Pick<StoreSettings, 'env' | 'context'>): StoreContext {
  const crash = crashAt(env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
  return { clock: systemClock, random: systemRandom, crash, ...context }
}

export function backupOptions({ clock, crash }: StoreContext) {
  return { clock, crash, heddleVersion: version }
}
