import { loadConfig } from '../../../src/config/config.ts'
import type { Model } from '../../../src/domain/model.ts'
import type { Tool } from '../../../src/domain/tools/tool.ts'
import { ensureHome, homePaths } from '../../../src/home/home.ts'
import { type OwnerApp, openOwnerApp } from '../../setup/owner-app.ts'

export const folder = '/programs'

/** Opens a heddle for a program that shares a home, or only a database, with others; its leases are short. */
export async function openHome(
  home: string,
  database: string,
  model: Model,
  env: Record<string, string> = {},
  tools: Tool[] = [],
): Promise<OwnerApp> {
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  return openOwnerApp({
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
    tools,
    tell: (text) => process.stderr.write(`${text}\n`),
  })
}
