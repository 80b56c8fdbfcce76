import { existsSync, realpathSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { dirname, isAbsolute, join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { ProtectedPlaces } from '../domain/tools/path-handle.ts'
import { userGitOf } from '../domain/tools/user-git.ts'
import { isWithin } from '../domain/tools/within.ts'
import { packageRoot } from '../package-root.ts'
import { type HomePaths, userHomeOf } from './home.ts'
import { runtimeFolder } from './socket-folder.ts'

/** Files that this process runs from; tests pass their own. */
interface OwnProgram {
  /** Root of this package. */
  root: string
  node: string
  /** Path by which the program was started, if known. */
  launcher: string | undefined
  codeCache: string | undefined
}

interface TrustedPlacesSettings {
  /** `config` is the file that was actually read. */
  paths: Pick<HomePaths, 'home' | 'config' | 'run'>
  config: Pick<Config, 'skills'> & Partial<Pick<Config, 'notify'>>
  env: NodeJS.ProcessEnv
  program?: OwnProgram
}

// A checkout also holds documents and tests, which the running program does not depend on.
const partsOfCheckout = ['bin', 'src', 'dist', 'agents', 'node_modules', 'package.json']

/**
 * All paths that Heddle itself reads, runs or listens on: the only list from which path handles and sandboxes protect them.
 * Keys and sockets are hidden; code and instructions are read-only.
 */
export function trustedPlaces({ paths, config, env, program = ownProgram() }: TrustedPlacesSettings): ProtectedPlaces {
  const { root, node, launcher, codeCache } = program
  const isCheckout = existsSync(join(root, 'src'))
  const userHome = userHomeOf(env)
  const socketFolder = runtimeFolder(paths.run, env)
  const notify = config.notify?.command?.replace(/^~(?=\/)/, userHome)
  return {
    // The default home too, even if another one is in use: the next `heddle` may use it.
    hidden: outermost([
      paths.home,
      join(userHome, '.heddle'),
      paths.config,
      codeCache,
      socketFolder && dirname(socketFolder),
    ]),
    readOnly: outermost([
      ...(isCheckout ? partsOfCheckout.map((part) => join(root, part)) : [root]),
      node,
      launcher,
      ...config.skills,
      // The user's global git configuration.
      ...[
        env['GIT_CONFIG_GLOBAL'],
        join(userHome, '.gitconfig'),
        join(env['XDG_CONFIG_HOME'] || join(userHome, '.config'), 'git'),
      ],
      notify !== undefined && isAbsolute(notify) ? notify : undefined,
    ]),
    noCommands: isCheckout ? [root] : [],
    userGit: userGitOf(env, userHome),
  }
}

function ownProgram(): OwnProgram {
  const launcher = launcherOf(packageRoot)
  return { root: packageRoot, node: process.execPath, launcher, codeCache: getCompileCacheDir() }
}

/** A link in `node_modules/.bin`, for example; undefined if another program uses this package as a library. */
function launcherOf(root: string): string | undefined {
  const started = process.argv[1]
  if (started === undefined || !existsSync(started)) return undefined
  return isWithin(realpathSync(started), root) ? started : undefined
}

function outermost(paths: readonly (string | undefined)[]): string[] {
  const unique = [...new Set(paths.filter((path) => path !== undefined))]
  return unique.filter((path) => !unique.some((other) => other !== path && isWithin(path, other)))
}
