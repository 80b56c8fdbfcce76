import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, realpath, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { CrashPoint } from '../domain/crash-points.ts'
import { HeddleError } from '../domain/errors.ts'
import { configProblems, readConfigText } from './config.ts'
import { fileTrouble, isCode, placeFile, renameDurably } from './files.ts'
import type { Env } from './interpolate.ts'
import { ConfigInvalid } from './problem.ts'

export interface ReplaceOptions {
  /** Where `${NAME}` is looked up while the new text is checked. */
  env: Env
  /** The folder for earlier versions; `backups/config` beside the file unless told. */
  previousConfigs?: string
  crash?: (point: CrashPoint) => void
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
  const problems = configProblems(newText, options.env)
  if (problems.length > 0) throw new ConfigInvalid(file, problems)
  const target = await behindLinks(file)
  if ((await readConfigText(target)) !== expectedOldText) throw changed(file)
  if (newText === expectedOldText) return
  try {
    if (expectedOldText !== undefined) {
      await keepVersion(options.previousConfigs ?? join(dirname(target), 'backups', 'config'), target, expectedOldText)
    }
    if (await swap(target, newText, expectedOldText, options.crash ?? (() => undefined))) return
  } catch (error) {
    throw fileTrouble(error, 'config_unwritable', `Cannot write ${file}`)
  }
  throw changed(file)
}

/**
 * Compare-and-swap without a lock, so that a killed process leaves nothing locked. The new text is first placed under
 * a name made from the old text: only one process can have it, and until it is renamed onto the file nobody else who
 * expects that old text can pass. Whoever finds the name taken finishes that swap, dead owner or not, and starts over.
 */
async function swap(
  target: string,
  newText: string,
  oldText: string | undefined,
  crash: (point: CrashPoint) => void,
): Promise<boolean> {
  const claim = claimOn(target, oldText)
  const won = await placeFile(claim, newText)
  try {
    if ((await readConfigText(target)) !== oldText) {
      await unlink(claim)
      return false
    }
    crash('config.before_rename')
    await renameDurably(claim, target, () => crash('config.after_rename'))
  } catch (error) {
    ignoreAbsence(error)
    // Someone else finished this swap or withdrew it: what the file holds tells which.
    return (await readConfigText(target)) === newText
  }
  if (won) await dropVoidClaims(target, newText)
  return won
}

function claimOn(target: string, oldText: string | undefined): string {
  const version = oldText === undefined ? 'absent' : createHash('sha256').update(oldText).digest('hex').slice(0, 16)
  return join(dirname(target), `.${basename(target)}.${version}.next`)
}

/** A swap whose old text is gone (the file was edited by hand after a kill) must not wake up if that text returns. */
async function dropVoidClaims(target: string, currentText: string): Promise<void> {
  const current = basename(claimOn(target, currentText))
  for (const name of await readdir(dirname(target))) {
    const isClaim = name.startsWith(`.${basename(target)}.`) && name.endsWith('.next')
    if (isClaim && name !== current) await unlink(join(dirname(target), name)).catch(ignoreAbsence)
  }
}

async function keepVersion(folder: string, target: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = basename(target)
  for (;;) {
    const kept = await versionsIn(folder, name)
    const latest = kept.at(-1)
    if (latest !== undefined && (await textOf(join(folder, `${name}.${latest}`))) === text) return
    if (!(await placeFile(join(folder, `${name}.${(latest ?? 0) + 1}`), text))) continue
    for (const old of kept.slice(0, Math.max(0, kept.length + 1 - keptVersions))) {
      await unlink(join(folder, `${name}.${old}`)).catch(ignoreAbsence)
    }
    return
  }
}

async function versionsIn(folder: string, name: string): Promise<number[]> {
  const numbers = (await readdir(folder)).flatMap((entry) => {
    const number = entry.startsWith(`${name}.`) ? entry.slice(name.length + 1) : ''
    return /^[1-9]\d*$/.test(number) ? [Number(number)] : []
  })
  return numbers.sort((a, b) => a - b)
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ignoreAbsence)
}

function ignoreAbsence(error: unknown): undefined {
  if (!isCode(error, 'ENOENT')) throw error
  return undefined
}

/** The file itself where the configuration is a link into, say, a folder of dotfiles: the link must stay one. */
async function behindLinks(file: string): Promise<string> {
  try {
    return await realpath(file)
  } catch (error) {
    ignoreAbsence(error)
    return file
  }
}

function changed(file: string): HeddleError {
  const message = `${file} was changed by somebody else in the meantime.`
  return new HeddleError('config_changed', message, 'look at it again and repeat the change', { retry: 'later' })
}
