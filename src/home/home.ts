import { type Stats, statSync } from 'node:fs'
import { chmod, lstat, mkdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isCode, placeFile, syncDirectory, toFileError } from '../config/files.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { homeTemplates } from './templates.ts'

/** The user's home folder, as `os.homedir` finds it for a process with this environment. */
export function userHomeOf(env: Readonly<Record<string, string | undefined>>): string {
  return env['HOME'] || homedir()
}

/** Chooses the home: `--home`, else `HEDDLE_HOME`, else `~/.heddle`. Always a whole path, never that of a file. */
export function resolveHome(choice: {
  flag?: string
  env: Readonly<Record<string, string | undefined>>
  userHome: string
  /** Base of a relative path. */
  cwd: string
}): string {
  const { flag, env, userHome, cwd } = choice
  const [path, from] = flag === undefined ? [env['HEDDLE_HOME'] || '~/.heddle', 'HEDDLE_HOME'] : [flag, '--home']
  if (path.trim() === '' || path.includes('\0') || /^~[^/]/.test(path)) {
    throw new UsageError(`${from} is not a folder: "${path}"`, `give ${from} a path such as ~/.heddle`)
  }
  const home = resolve(cwd, path.startsWith('~') ? join(userHome, path.slice(1)) : path)
  if (home === '/') throw new UsageError(`${from} cannot be the root folder`, `give ${from} a folder of its own`)
  if (statOf(home)?.isDirectory() === false) {
    throw new UsageError(
      `${home} is a file, and ${from} must be a folder`,
      `give ${from} another path, or move the file away`,
    )
  }
  return home
}

/** Paths in a home. */
export interface HomePaths {
  home: string
  config: string
  database: string
  /** Identity of this home among those that share its database. */
  id: string
  /** List of the databases that this home has had. */
  knownDatabases: string
  backups: string
  run: string
  /** Log of a daemon that `heddle open` started. */
  upLog: string
  /** Records of what commands of a killed process could have left behind. */
  guards: string
  /** Proof that the sandbox confines commands on this machine. */
  sandboxProof: string
  skills: string
  memory: string
  secrets: string
  previousConfigs: string
}

export function homePaths(home: string): HomePaths {
  return {
    home,
    config: join(home, 'heddle.yaml'),
    database: join(home, 'heddle.db'),
    id: join(home, 'home-id'),
    knownDatabases: join(home, 'known-databases'),
    backups: join(home, 'backups'),
    run: join(home, 'run'),
    upLog: join(home, 'run', 'up.log'),
    guards: join(home, 'run', 'guards'),
    sandboxProof: join(home, 'run', 'sandbox-proof'),
    skills: join(home, 'skills'),
    memory: join(home, 'memory'),
    secrets: join(home, 'secrets'),
    previousConfigs: join(home, 'backups', 'config'),
  }
}

/** Absolute paths that were created, and those that existed. */
interface EnsuredHome {
  path: string
  created: string[]
  kept: string[]
}

/**
 * Creates the missing parts of a home and changes nothing else; safe in concurrent processes. New folders are 0700 and new
 * files 0600; an existing folder keeps its mode, and `doctor` warns if it is too open.
 */
export async function ensureHome(home: string): Promise<EnsuredHome> {
  const ensured: EnsuredHome = { path: home, created: [], kept: [] }
  const note = (path: string, made: boolean) => (made ? ensured.created : ensured.kept).push(path)
  const { skills, memory, run, backups } = homePaths(home)
  try {
    await mkdir(dirname(home), { recursive: true })
    for (const folder of [home, memory, skills, run, backups]) note(folder, await ensureFolder(folder))
    for (const [name, text] of Object.entries(homeTemplates)) {
      const path = join(home, name)
      note(path, !(await exists(path)) && (await placeFile(path, text)))
    }
    if (ensured.created.length > 0) await syncDirectory(home)
  } catch (error) {
    throw toFileError(error, 'home_unusable', `cannot create ${home}`)
  }
  return ensured
}

async function ensureFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 })
    // The umask may have removed permissions of the owner.
    await chmod(path, 0o700)
    return true
  } catch (error) {
    // A read-only or foreign parent gives these errors even if the folder exists.
    if (!isCode(error, 'EEXIST', 'EROFS', 'EACCES', 'EPERM')) throw error
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return false
    if (!isCode(error, 'EEXIST')) throw error
    const what = found ? 'is not a folder' : 'is a link to a folder that does not exist'
    throw new HeddleError(
      'home_unusable',
      `${path} ${what}`,
      `move ${path} away, or choose another home with --home DIR`,
    )
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (isCode(error, 'ENOENT')) return false
      throw error
    },
  )
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // Not readable, or below a file: creating the home will report it.
    return undefined
  }
}
