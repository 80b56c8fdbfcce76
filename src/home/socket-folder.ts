import { createHash } from 'node:crypto'
import { isAbsolute, join } from 'node:path'

/**
 * Where the daemon's socket goes when its path in the home would be too long for one: the directory that the system
 * keeps private to this user. Never a directory that users share, such as the one for temporary files.
 */
export function runtimeFolder(runFolder: string, env: NodeJS.ProcessEnv): string | undefined {
  const given = env['XDG_RUNTIME_DIR']
  if (!given || !isAbsolute(given)) return undefined
  return join(given, 'heddle', createHash('sha256').update(runFolder).digest('hex').slice(0, 16))
}
