import { existsSync, realpathSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { dirname, isAbsolute, join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { ProtectedPlaces } from '../domain/path-handle.ts'
import { isWithin } from '../domain/within.ts'
import { type HomePaths, userHomeOf } from './home.ts'
import { runtimeFolder } from './socket-folder.ts'

/** What this process runs on: found out once, and given by tests. */
export interface OwnProgram {
  /** The package that this code is part of. */
  root: string
  node: string
  /** The path that the program was started by, where that is known. */
  launcher: string | undefined
  codeCache: string | undefined
}

export interface TrustedPlacesSettings {
  /** `config` is the file that was really read. */
  paths: Pick<HomePaths, 'home' | 'config' | 'run'>
  config: Pick<Config, 'skills'> & Partial<Pick<Config, 'notify'>>
  env: NodeJS.ProcessEnv
  program?: OwnProgram
}

// A checkout also holds documents and tests, which nothing of the running program depends on.
const partsOfCheckout = ['bin', 'src', 'dist', 'agents', 'node_modules', 'package.json']

/**
 * Everything that Heddle itself reads, runs or listens on: the one list from which path handles and sandboxes learn what
 * agents cannot touch. Keys and sockets are hidden; code and instructions are read-only.
 */
export function trustedPlaces({ paths, config, env, program = ownProgram() }: TrustedPlacesSettings): ProtectedPlaces {
  const { root, node, launcher, codeCache } = program
  const isCheckout = existsSync(join(root, 'src'))
  const userHome = userHomeOf(env)
  const socketFolder = runtimeFolder(paths.run, env)
  const notify = config.notify?.command?.replace(/^~(?=\/)/, userHome)
  return {
    // The usual home too, even where another one is in use: it is where the next `heddle` looks.
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
      // What the user's own git obeys in every repository.
      ...[
        env['GIT_CONFIG_GLOBAL'],
        join(userHome, '.gitconfig'),
        join(env['XDG_CONFIG_HOME'] || join(userHome, '.config'), 'git'),
      ],
      notify !== undefined && isAbsolute(notify) ? notify : undefined,
    ]),
    noCommands: isCheckout ? [root] : [],
  }
}

function ownProgram(): OwnProgram {
  const root = join(import.meta.dirname, '../..')
  return { root, node: process.execPath, launcher: launcherOf(root), codeCache: getCompileCacheDir() }
}

/** A link in `node_modules/.bin`, for example; undefined where the process is another's program that uses this package. */
function launcherOf(root: string): string | undefined {
  const started = process.argv[1]
  if (started === undefined || !existsSync(started)) return undefined
  return isWithin(realpathSync(started), root) ? started : undefined
}

function outermost(paths: readonly (string | undefined)[]): string[] {
  const given = [...new Set(paths.filter((path) => path !== undefined))]
  return given.filter((path) => !given.some((other) => other !== path && isWithin(path, other)))
}
