import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { CrashPoint } from '../domain/crash-points.ts'
import { HeddleError } from '../domain/errors.ts'
import type { NameChecks } from './check.ts'
import { configProblems, readConfigText } from './config.ts'
import { isCode, placeFile, renameDurably, toFileError } from './files.ts'
import type { Env } from './interpolate.ts'
import { withLock } from './lock.ts'
import { ConfigInvalid } from './problem.ts'

export interface ReplaceOptions {
  /** Environment for `${NAME}` while the new text is checked. */
  env: Env
  /** Clock for waiting while another process changes the file. */
  clock: Clock
  /** Folder for earlier versions; default `backups/config` beside the file. */
  previousConfigs?: string
  crash?: (point: CrashPoint) => void
  /** Names that must exist, since the change may have added them. */
  names?: NameChecks
}

/** Max earlier versions to keep. */
export const keptVersions = 20

/**
 * Replaces the configuration by a valid text, if it is still what the caller read (`undefined`: no file). A kill at any
 * moment leaves the complete old or new file; the old one is kept as an earlier version.
 */
export async function replaceConfig(
  file: string,
  newText: string,
  expectedOldText: string | undefined,
  options: ReplaceOptions,
): Promise<void> {
  const problems = configProblems(newText, options.env, options.names)
  if (problems.length > 0) throw new ConfigInvalid(file, problems)
  const target = await behindLinks(file)
  if ((await readConfigText(target)) !== expectedOldText) throw changed(file)
  if (newText === expectedOldText) return
  const versions = options.previousConfigs ?? join(dirname(target), 'backups', 'config')
  try {
    await mkdir(versions, { recursive: true, mode: 0o700 })
    await withLock(join(versions, `.${basename(target)}.lock`), options.clock, async () => {
      if ((await readConfigText(target)) !== expectedOldText) throw changed(file)
      if (expectedOldText !== undefined) await keepVersion(versions, basename(target), expectedOldText)
      const next = await placeNext(target, newText)
      options.crash?.('config.before_rename')
      await renameDurably(next, target, () => options.crash?.('config.after_rename'))
    })
  } catch (error) {
    throw toFileError(error, 'config_unwritable', `cannot write ${file}`)
  }
}

async function keepVersion(folder: string, name: string, text: string): Promise<void> {
  const kept = await versionsIn(folder, name)
  const latest = kept.at(-1) ?? 0
  if (latest > 0 && (await readFile(join(folder, `${name}.${latest}`), 'utf8')) === text) return
  await placeFile(join(folder, `${name}.${latest + 1}`), text)
  for (const old of kept.slice(0, Math.max(0, kept.length + 1 - keptVersions))) await rm(join(folder, `${name}.${old}`))
}

async function versionsIn(folder: string, name: string): Promise<number[]> {
  const numbers = (await readdir(folder)).flatMap((entry) => {
    const number = entry.startsWith(`${name}.`) ? entry.slice(name.length + 1) : ''
    return /^[1-9]\d*$/.test(number) ? [Number(number)] : []
  })
  return numbers.sort((a, b) => a - b)
}

/** Writes the new text beside the file, and removes leftovers of killed processes. */
async function placeNext(target: string, text: string): Promise<string> {
  const folder = dirname(target)
  const next = `.${basename(target)}.next`
  for (const name of await readdir(folder)) {
    const isDraft = name.startsWith(`.${next}.`) && name.endsWith('.tmp')
    const isNext = name.startsWith(`.${basename(target)}.`) && name.endsWith('.next')
    if (isDraft || isNext) await rm(join(folder, name), { force: true })
  }
  // A process with another folder for versions has another lock, and must not put its text under our name.
  if (!(await placeFile(join(folder, next), text))) throw changed(target)
  return join(folder, next)
}

/** Target of a linked configuration, such as one in a dotfiles folder: the link must stay. */
async function behindLinks(file: string): Promise<string> {
  return realpath(file).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return file
    throw error
  })
}

function changed(file: string): HeddleError {
  const message = `${file} was changed by another program in the meantime`
  return new HeddleError('config_changed', message, 'look at it again and repeat the change', { retry: 'later' })
}
