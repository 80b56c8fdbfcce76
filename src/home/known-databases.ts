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
 * Records a database of a home. Called after each opening: if a crash comes before the record, the next start adds it.
 */
export async function noteDatabase({ knownDatabases: file }: Paths, name: string): Promise<void> {
  const known = await readKnown(file)
  if (known.includes(name)) return
  try {
    const draft = await writeDraft(file, heading + [...known, name].map((each) => `${each}\n`).join(''))
    await renameDurably(draft, file, () => undefined)
  } catch (error) {
    // A home that is not writable now can still be read; the next start records it.
    if (!isCode(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM')) throw error
  }
}

/**
 * Error that refuses to create a new database where this home had one; undefined if it had none. Must be called before
 * checking for the database: another starting process creates the database first and the record after it.
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
    `database ${place} is missing`,
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
