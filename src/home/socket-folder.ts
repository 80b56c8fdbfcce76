import { hash } from 'node:crypto'
import { isAbsolute, join } from 'node:path'

/**
 * Folder of the daemon's socket if its path in the home would be too long: the user's private runtime directory. Never a
 * shared directory such as /tmp.
 */
export function runtimeFolder(runFolder: string, env: NodeJS.ProcessEnv): string | undefined {
  const runtimeDirectory = env['XDG_RUNTIME_DIR']
  if (!runtimeDirectory || !isAbsolute(runtimeDirectory)) return undefined
  return join(runtimeDirectory, 'heddle', hash('sha256', runFolder).slice(0, 16))
}
