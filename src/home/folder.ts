import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { isCode } from '../config/files.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { isStorable } from '../domain/storable.ts'
import { isWithin } from '../domain/within.ts'

/** Folders of the user and of heddle itself, in which no agent works. */
export interface OwnFolders {
  userHome: string
  home: string
}

/**
 * The folder that a session belongs to: the working directory, or the workspace where that is no place to work in.
 * Always a real path, so that one folder has one name.
 */
export async function folderFor(cwd: string, places: OwnFolders & { workspace: string }): Promise<string> {
  const folder = await realPath(cwd)
  if ((await whyNotToWorkIn(folder, places)) === undefined) return folder
  const [workspace, home] = await Promise.all([realPath(places.workspace), realPath(places.home)])
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

/**
 * The real path of a folder in which somebody wants agents to work, whichever way the wish came in; refused where no
 * agent may work. A folder need not exist yet: the workspace is made by the first file that is written there.
 */
export async function folderToWorkIn(path: string, own: OwnFolders): Promise<string> {
  if (!isAbsolute(path)) throw unfit(path, 'is not a whole path')
  if (!isStorable(path)) throw unfit(path, 'holds a NUL or half a character')
  const folder = await realPath(path).catch((error: NodeJS.ErrnoException) => {
    throw unfit(path, `cannot be reached (${error.code})`)
  })
  const found = await stat(folder).catch(() => undefined)
  if (found && !found.isDirectory()) throw unfit(path, 'is a file')
  const why = await whyNotToWorkIn(folder, own)
  if (why !== undefined) throw unfit(path, `is ${why}`)
  return folder
}

/** The real path by which sessions of a folder are kept; a path that leads nowhere stays as it is. */
export async function folderNamed(path: string): Promise<string> {
  return isAbsolute(path) && isStorable(path) ? realPath(path).catch(() => path) : path
}

// What the kernel shows as files: to write there is to change the machine.
const kernelFolders = ['/proc', '/sys', '/dev']

/** Why agents may not work in a folder, given by its real path; undefined where they may. */
async function whyNotToWorkIn(folder: string, own: OwnFolders): Promise<string | undefined> {
  if (folder === '/') return 'the root folder'
  if (kernelFolders.some((place) => isWithin(folder, place))) return 'a folder of the system'
  const userHome = await realPath(own.userHome)
  if (folder === userHome) return 'your home folder'
  if (isWithin(userHome, folder)) return 'a folder that holds your home folder'
  return isWithin(folder, await realPath(own.home)) ? 'a part of the home of heddle' : undefined
}

function unfit(path: string, why: string): Misuse {
  return new Misuse(
    `${JSON.stringify(path.slice(0, 200))} ${why}: no agent works there`,
    'name the folder of a project by its whole path',
    'bad_folder',
  )
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
