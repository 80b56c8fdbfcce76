import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { isCode } from '../config/files.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { isKernelPath } from '../domain/kernel-folders.ts'
import { isStorable } from '../domain/storable.ts'
import { isWithin } from '../domain/within.ts'

const ofSystem = 'a folder of the system'

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
  const folder = realPath(cwd)
  if (whyNotToWorkIn(folder, places) === undefined) return folder
  const [workspace, home] = [realPath(places.workspace), realPath(places.home)]
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
export function folderToWorkIn(path: string, own: OwnFolders): string {
  if (!isAbsolute(path)) throw unfit(path, 'is not a whole path')
  if (!isStorable(path)) throw unfit(path, 'holds a NUL or half a character')
  // `/proc/self/cwd` is another folder for each process that looks.
  if (isKernelPath(resolve(path))) throw unfit(path, `is ${ofSystem}`)
  const folder = reachable(path)
  if (kindOf(folder) === 'file') throw unfit(path, 'is a file')
  const why = whyNotToWorkIn(folder, own)
  if (why !== undefined) throw unfit(path, `is ${why}`)
  return folder
}

/** The real path by which sessions of a folder are kept; a path that leads nowhere stays as it is. */
export function folderNamed(path: string): string {
  if (!isAbsolute(path) || !isStorable(path)) return path
  try {
    return realPath(path)
  } catch {
    return path
  }
}

function reachable(path: string): string {
  try {
    return realPath(path)
  } catch (error) {
    throw unfit(path, `cannot be reached (${(error as NodeJS.ErrnoException).code})`)
  }
}

function kindOf(path: string): 'folder' | 'file' | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found && (found.isDirectory() ? 'folder' : 'file')
  } catch {
    return undefined
  }
}

/** Why agents may not work in a folder, given by its real path; undefined where they may. */
function whyNotToWorkIn(folder: string, own: OwnFolders): string | undefined {
  if (folder === '/') return 'the root folder'
  if (isKernelPath(folder)) return ofSystem
  const userHome = realPath(own.userHome)
  if (folder === userHome) return 'your home folder'
  if (isWithin(userHome, folder)) return 'a folder that holds your home folder'
  return isWithin(folder, realPath(own.home)) ? 'a part of the home of heddle' : undefined
}

function unfit(path: string, why: string): Misuse {
  return new Misuse(
    `${JSON.stringify(path.slice(0, 200))} ${why}: no agent works there`,
    'name the folder of a project by its whole path',
    'bad_folder',
  )
}

// Asked without waiting: what people type must not be overtaken by what they type next.
/** The real path of a folder that may not be there yet: links in the part that exists are followed. */
function realPath(path: string): string {
  const whole = resolve(path)
  try {
    return realpathSync.native(whole)
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'EACCES') || whole === dirname(whole)) throw error
    return join(realPath(dirname(whole)), basename(whole))
  }
}
