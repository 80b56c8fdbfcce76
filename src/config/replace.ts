import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { CrashPoint } from '../domain/crash-points.ts'
import { HeddleError } from '../domain/errors.ts'
import type { AgentNames } from './check.ts'
import { configProblems, readConfigText } from './config.ts'
import { fileTrouble, isCode, placeFile, renameDurably } from './files.ts'
import type { Env } from './interpolate.ts'
import { alone } from './lock.ts'
import { ConfigInvalid } from './problem.ts'

export interface ReplaceOptions {
  /** Where `${NAME}` is looked up while the new text is checked. */
  env: Env
  /** Measures the pauses while another process is changing the file. */
  clock: Clock
  /** The folder for earlier versions; `backups/config` beside the file unless told. */
  previousConfigs?: string
  crash?: (point: CrashPoint) => void
  /** Given where the default agent is changed: it must be there. */
  agentNames?: AgentNames
}

/** How many earlier versions are kept. */
export const keptVersions = 20

/**
 * Replaces the configuration by a valid text, if it still is what the caller read (`undefined`: no file). A kill at any
 * moment leaves the old or the new file, complete; the old one is kept as an earlier version.
 */
export async function replaceConfig(
  file: string,
  newText: string,
  expectedOldText: string | undefined,
  options: ReplaceOptions,
): Promise<void> {
  const problems = configProblems(newText, options.env, options.agentNames)
  if (problems.length > 0) throw new ConfigInvalid(file, problems)
  const target = await behindLinks(file)
  if ((await readConfigText(target)) !== expectedOldText) throw changed(file)
  if (newText === expectedOldText) return
  const versions = options.previousConfigs ?? join(dirname(target), 'backups', 'config')
  try {
    await mkdir(versions, { recursive: true, mode: 0o700 })
    await alone(join(versions, `.${basename(target)}.lock`), options.clock, async () => {
      if ((await readConfigText(target)) !== expectedOldText) throw changed(file)
      if (expectedOldText !== undefined) await keepVersion(versions, basename(target), expectedOldText)
      const next = await placeNext(target, newText)
      options.crash?.('config.before_rename')
      await renameDurably(next, target, () => options.crash?.('config.after_rename'))
    })
  } catch (error) {
    throw fileTrouble(error, 'config_unwritable', `Cannot write ${file}`)
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

/** The new text beside the file, in place of whatever killed processes left there. */
async function placeNext(target: string, text: string): Promise<string> {
  const folder = dirname(target)
  const next = `.${basename(target)}.next`
  for (const name of await readdir(folder)) {
    const isDraft = name.startsWith(`.${next}.`) && name.endsWith('.tmp')
    const isNext = name.startsWith(`.${basename(target)}.`) && name.endsWith('.next')
    if (isDraft || isNext) await rm(join(folder, name), { force: true })
  }
  // Who has another folder for earlier versions has another lock, and must not slip its text under our name.
  if (!(await placeFile(join(folder, next), text))) throw changed(target)
  return join(folder, next)
}

/** The file itself where the configuration is a link into, say, a folder of dotfiles: the link must stay one. */
async function behindLinks(file: string): Promise<string> {
  return realpath(file).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return file
    throw error
  })
}

function changed(file: string): HeddleError {
  const message = `${file} was changed by somebody else in the meantime.`
  return new HeddleError('config_changed', message, 'look at it again and repeat the change', { retry: 'later' })
}
