import { loadConfig } from '../../src/config/config.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { openOwnerApp } from '../setup/owner-app.ts'

/** Makes what cycles begin with: a home and a schema, and a session in which something has been said before. */
export async function prepareHome(home: string, database: string): Promise<void> {
  await ensureHome(home)
  const paths = homePaths(home)
  const app = await openOwnerApp({ paths, env: {}, config: { ...(await loadConfig(paths.config, {})), database } })
  await app.append('/crash', {
    session: 'main',
    draft: { query: [{ content: 'question of yesterday' }], response: { content: 'answer of yesterday' } },
  })
  await app.close()
}
