import { lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { isCode } from '../config/files.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { isStorable } from '../domain/text/storable.ts'
import { isKernelPath } from '../domain/tools/kernel-folders.ts'
import { isWithin } from '../domain/tools/within.ts'

const systemFolder = 'a folder of the system'

/** Folders of the user and of Heddle itself, in which no agent may work. */
export interface OwnFolders {
  userHome: string
  home: string
}

/**
 * Folder of a session: the working directory, or the workspace if agents may not work there. Always a real path, so that
 * each folder has one name.
 */
export async function folderFor(cwd: string, places: OwnFolders & { workspace: string }): Promise<string> {
  const folder = resolveExisting(cwd)
  if (whyNotToWorkIn(folder, places) === undefined) return folder
  const [workspace, home] = [resolveExisting(places.workspace), resolveExisting(places.home)]
  // Agents write in the workspace: it must not hold the configuration that limits them.
  if (isWithin(workspace, home) || isWithin(home, workspace)) {
    const message = `the workspace ${places.workspace} and the home ${places.home} lie inside each other`
    throw new HeddleError(
      'workspace_unsafe',
      message,
      'set workspace to a folder of its own: heddle config set workspace DIR',
    )
  }
  return workspace
}

/**
 * Creates the workspace if it stands in for the working directory, and returns a line that says so; undefined if the work
 * is done in the working directory.
 */
export function enterWorkspace(cwd: string, folder: string, own: OwnFolders): string | undefined {
  const why = whyNotToWorkIn(resolveExisting(cwd), own)
  if (why === undefined) return undefined
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    const message = `the workspace ${folder} cannot be created (${(error as NodeJS.ErrnoException).code})`
    const remedy = 'change to a project folder, or choose another workspace: heddle config set workspace DIR'
    throw new HeddleError('workspace_missing', message, remedy, { cause: error })
  }
  return `working in ${folder}: the current folder is ${why}, where no agent works`
}

/** Real path of a folder for agents to work in; throws if no agent may work there. It need not exist yet. */
export function folderToWorkIn(path: string, own: OwnFolders): string {
  if (!isAbsolute(path)) throw unfit(path, 'is not an absolute path')
  if (!isStorable(path)) throw unfit(path, 'contains NUL or an incomplete character')
  // `/proc/self/cwd` is a different folder for each process.
  if (isKernelPath(resolve(path))) throw unfit(path, `is ${systemFolder}`)
  const folder = resolveFolder(path)
  if (entryKind(folder) === 'file') throw unfit(path, 'is a file')
  const why = whyNotToWorkIn(folder, own)
  if (why !== undefined) throw unfit(path, `is ${why}`)
  return folder
}

/** Real path under which a folder's sessions are stored; an unresolvable path stays unchanged. */
export function realFolder(path: string): string {
  if (!isAbsolute(path) || !isStorable(path)) return path
  try {
    return resolveExisting(path)
  } catch {
    return path
  }
}

function resolveFolder(path: string): string {
  try {
    return resolveExisting(path)
  } catch (error) {
    throw unfit(path, `cannot be reached (${(error as NodeJS.ErrnoException).code})`)
  }
}

function entryKind(path: string): 'folder' | 'file' | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found && (found.isDirectory() ? 'folder' : 'file')
  } catch {
    return undefined
  }
}

/** Why agents may not work in a folder, given by its real path; undefined if they may. */
function whyNotToWorkIn(folder: string, own: OwnFolders): string | undefined {
  if (folder === '/') return 'the root folder'
  if (isKernelPath(folder)) return systemFolder
  const userHome = resolveExisting(own.userHome)
  if (folder === userHome) return 'your home folder'
  if (isWithin(userHome, folder)) return 'a folder that holds your home folder'
  return isWithin(folder, resolveExisting(own.home)) ? 'a part of the home of heddle' : undefined
}

function unfit(path: string, why: string): UsageError {
  return new UsageError(
    `${JSON.stringify(path.slice(0, 200))} ${why}: no agent works there`,
    'give the absolute path of a project folder',
    'bad_folder',
  )
}

// Synchronous, so that inputs keep the order in which they were typed.
/** Real path of a folder that may not exist yet: links in the existing part are resolved. */
function resolveExisting(path: string): string {
  const whole = resolve(path)
  try {
    // A folder that is made later is no error: one that is made and thrown costs more than this look.
    if (isMissing(whole)) return join(realpathSync.native(dirname(whole)), basename(whole))
    return realpathSync.native(whole)
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'EACCES') || whole === dirname(whole)) throw error
    return join(resolveExisting(dirname(whole)), basename(whole))
  }
}

/** A link that leads nowhere is there. */
function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined
}
