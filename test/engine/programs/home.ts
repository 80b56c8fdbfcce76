import { openApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config/config.ts'
import type { App } from '../../../src/domain/app.ts'
import type { Model } from '../../../src/domain/model.ts'
import { ensureHome, homePaths } from '../../../src/home/home.ts'

export const folder = '/programs'

/** Opens a heddle for a program that shares a home, or only a database, with others; its leases are short. */
export async function openHome(
  home: string,
  database: string,
  model: Model,
  env: Record<string, string> = {},
): Promise<App> {
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  return openApp({
    paths,
    env,
    config: {
      ...config,
      database,
      agent: { ...config.agent, default: '@general' },
      memory: { ...config.memory, narratives: false },
      engine: { ...config.engine, leaseSeconds: 2 },
    },
    models: [model],
    tell: (text) => process.stderr.write(`${text}\n`),
  })
}
