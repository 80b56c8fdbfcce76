import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isCode } from '../config/files.ts'
import { HeddleError } from '../domain/errors.ts'
import { isWithin } from '../domain/within.ts'

/**
 * The folder that a session belongs to: the working directory, or the workspace where that is no place to work in
 * (the user's home folder, `/`, or inside the home of heddle). Always a real path, so that one folder has one name.
 */
export async function folderFor(
  cwd: string,
  places: { userHome: string; home: string; workspace: string },
): Promise<string> {
  const [folder, userHome, home] = await Promise.all([realPath(cwd), realPath(places.userHome), realPath(places.home)])
  if (folder !== userHome && folder !== '/' && !isWithin(folder, home)) return folder
  const workspace = await realPath(places.workspace)
  // Agents write in the workspace: it must not hold the configuration that limits them.
  if (isWithin(workspace, home) || isWithin(home, workspace)) {
    const message = `The workspace ${places.workspace} and the home ${places.home} lie inside each other.`
    throw new HeddleError(
      'workspace_unsafe',
      message,
      'set workspace to a folder of its own: heddle config set workspace DIR',
    )
  }
  return workspace
}

/** The real path of a folder that may not be there yet: links in the part that exists are followed. */
async function realPath(path: string): Promise<string> {
  const whole = resolve(path)
  try {
    return await realpath(whole)
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'EACCES') || whole === dirname(whole)) throw error
    return join(await realPath(dirname(whole)), basename(whole))
  }
}
