import { existsSync, readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode, renameDurably, writeDraft } from '../config/files.ts'
import { HeddleError } from '../domain/errors.ts'
import type { HomePaths } from './home.ts'

type Paths = Pick<HomePaths, 'knownDatabases' | 'backups'>

const heading =
  '# Databases of this home, noted by heddle. One that is gone is not replaced by an empty one: heddle refuses to start.\n' +
  '# To begin with an empty database, remove this file.\n'

/**
 * Notes that a home has a database at this place. Called whenever one was opened: a crash before the note leaves a
 * database without it, which the next start finds and notes.
 */
export async function noteDatabase({ knownDatabases: file }: Paths, name: string): Promise<void> {
  const known = await readKnown(file)
  if (known.includes(name)) return
  try {
    const draft = await writeDraft(file, heading + [...known, name].map((each) => `${each}\n`).join(''))
    await renameDurably(draft, file, () => undefined)
  } catch (error) {
    // A home that cannot be written right now can still be read; the next start notes it.
    if (!isCode(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM')) throw error
  }
}

/**
 * The refusal to make a new database at a place where this home had one; undefined where it had none. Must be asked
 * before the look for the database: another process that starts right now makes the database first and the note after.
 */
export async function refusalIfMissing(
  { knownDatabases: file, backups }: Paths,
  name: string,
  place: string,
): Promise<HeddleError | undefined> {
  if (!(await readKnown(file)).includes(name)) return undefined
  const backup = newestBackup(backups)
  return new HeddleError(
    'database_missing',
    `${place} is gone: this home had a database there`,
    `put it back, or go back to a backup: heddle restore ${backup ?? 'FILE'}; ` +
      `to begin with an empty database instead, remove the note that there was one: rm ${shellWord(file)}`,
  )
}

async function readKnown(file: string): Promise<string[]> {
  try {
    const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim())
    return lines.filter((line) => line !== '' && !line.startsWith('#'))
  } catch (error) {
    if (isCode(error, 'ENOENT')) return []
    throw error
  }
}

function newestBackup(folder: string): string | undefined {
  const files = (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => name.endsWith('.backup'))
    .map((name) => join(folder, name))
  const newest = files.map((file) => ({ file, at: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
  const file = newest.sort((a, b) => b.at - a.at)[0]?.file
  return file === undefined ? undefined : shellWord(file)
}

function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
