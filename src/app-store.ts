import type { Config } from './config/config.ts'
import { crashAt } from './domain/crash-points.ts'
import type { HomePaths } from './home/home.ts'
import { noteDatabase, refusalIfMissing } from './home/known-databases.ts'
import { backupBeforeUpgrade } from './store/backup.ts'
import { examinePlace } from './store/examine.ts'
import { nameOfPlace, openStore, type Place, shownPlace } from './store/open.ts'
import { readBackupFacts, restoreBackup } from './store/restore.ts'
import type { Store, StoreContext } from './store/store.ts'
import { systemClock, systemRandom } from './system.ts'
import { version } from './version.ts'

/** What decides where a home's rows are. */
export interface StoreSettings {
  /** `paths.config` is the file that was really read. */
  paths: HomePaths
  config: Pick<Config, 'database' | 'durability'>
  env: NodeJS.ProcessEnv
  /** Told in plain words what a person should know, such as a schema that was upgraded. */
  tell?(text: string): void
  context?: Partial<StoreContext>
}

/** Opens the database of a home: made the first time, upgraded after a backup, refused where it is gone. */
export async function openHomeStore(settings: StoreSettings, context: StoreContext): Promise<Store> {
  const { paths, tell } = settings
  const place = placeOf(settings)
  const store = await openStore(place, context, {
    refusalIfMissing: () => refusalIfMissing(paths, nameOfPlace(place), shownPlace(place)),
    async beforeUpgrade(before, from, to) {
      const file = await backupBeforeUpgrade(before, paths.backups, from, backupOptions(context))
      tell?.(`upgrading the schema from ${from} to ${to}; to go back: heddle restore ${file}`)
    },
  })
  await noteDatabase(paths, nameOfPlace(place))
  return store
}

/** Puts a backup in the place of what this home holds, which is kept aside. */
export async function restoreApp(settings: StoreSettings, file: string) {
  const place = placeOf(settings)
  const restored = await restoreBackup(place, file, { context: contextOf(settings) })
  await noteDatabase(settings.paths, nameOfPlace(place))
  return restored
}

/** What a restore would replace, and with what; refuses a file that is no backup. */
export async function restoreFacts(settings: StoreSettings, file: string) {
  const place = placeOf(settings)
  const { bytes } = await examinePlace(place).catch(() => ({ bytes: null }))
  return { place: shownPlace(place), bytes, ...(await readBackupFacts(file)) }
}

/** Where a home's rows are. */
export function placeOf({ paths, config }: Pick<StoreSettings, 'paths' | 'config'>): Place {
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
