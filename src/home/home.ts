import { type Stats, statSync } from 'node:fs'
import { chmod, lstat, mkdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileTrouble, isCode, placeFile, syncFolder } from '../config/files.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
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
  /** Where a relative path begins. */
  cwd: string
}): string {
  const { flag, env, userHome, cwd } = choice
  const [asked, from] = flag === undefined ? [env['HEDDLE_HOME'] || '~/.heddle', 'HEDDLE_HOME'] : [flag, '--home']
  if (asked.trim() === '' || asked.includes('\0') || /^~[^/]/.test(asked)) {
    throw new Misuse(`${from} is not a folder: "${asked}".`, `give ${from} a path such as ~/.heddle`)
  }
  const home = resolve(cwd, asked.startsWith('~') ? join(userHome, asked.slice(1)) : asked)
  if (home === '/') throw new Misuse(`${from} cannot be the root folder.`, `give ${from} a folder of its own`)
  if (statOf(home)?.isDirectory() === false) {
    throw new Misuse(
      `${home} is a file, and ${from} must be a folder.`,
      `give ${from} another path, or move the file away`,
    )
  }
  return home
}

/** Where everything in a home is. */
export interface HomePaths {
  home: string
  config: string
  database: string
  /** The note of which databases this home has had. */
  knownDatabases: string
  backups: string
  run: string
  /** What commands of a killed process could have left behind, one record each. */
  guards: string
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
    knownDatabases: join(home, 'known-databases'),
    backups: join(home, 'backups'),
    run: join(home, 'run'),
    guards: join(home, 'run', 'guards'),
    skills: join(home, 'skills'),
    memory: join(home, 'memory'),
    secrets: join(home, 'secrets'),
    previousConfigs: join(home, 'backups', 'config'),
  }
}

/** What was made and what was there already: whole paths. */
export interface EnsuredHome {
  path: string
  created: string[]
  kept: string[]
}

/**
 * Makes what a home lacks and touches nothing that it has, however many processes do so at once. New folders are 0700
 * and new files 0600; a folder that was there keeps its mode, wide as it may be, for `doctor` to warn about.
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
    if (ensured.created.length > 0) await syncFolder(home)
  } catch (error) {
    throw fileTrouble(error, 'home_unusable', `Cannot make the home ${home}`)
  }
  return ensured
}

async function ensureFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 })
    // The umask may have taken rights away from the owner.
    await chmod(path, 0o700)
    return true
  } catch (error) {
    // A read-only or foreign parent says so even where the folder is there.
    if (!isCode(error, 'EEXIST', 'EROFS', 'EACCES', 'EPERM')) throw error
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return false
    if (!isCode(error, 'EEXIST')) throw error
    const what = found ? 'is not a folder' : 'is a link to a folder that does not exist'
    throw new HeddleError(
      'home_unusable',
      `${path} ${what}.`,
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
    // Not ours to see, or below a file: making the home will say what is wrong.
    return undefined
  }
}
