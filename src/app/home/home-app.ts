import type { HomeApp } from '../../api/home.ts'
import { configGet, configList, type ShownConfig } from '../../config/show.ts'
import type { Clock } from '../../domain/clock.ts'
import { userHomeOf } from '../../home/home.ts'
import { agentNamesFor } from '../agents.ts'
import { databaseLocation, type StoreSettings } from '../store.ts'
import { examine } from './doctor.ts'

/** The installation and its settings, asked of the process that has the home open. */
export function homeApp(
  { paths, env, config }: Pick<StoreSettings, 'paths' | 'env'> & { config: ShownConfig },
  clock: Clock,
): HomeApp {
  const userHome = userHomeOf(env)
  return {
    doctor: (folder) =>
      examine({
        ...{ home: paths.home, paths, configFile: paths.config, env, userHome, clock },
        nodeVersion: process.version,
        isDeep: false,
        agentNames: agentNamesFor({ paths, folder, clock, userHome }),
        // The database that is in use, whatever the file says by now.
        placeOf: () => databaseLocation({ paths, config }),
      }),
    settings: async () => ({ file: paths.config, settings: configList(config) }),
    setting: async (key) => ({ key, value: configGet(config, key) ?? null }),
  }
}
