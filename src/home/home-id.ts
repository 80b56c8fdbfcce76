import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isCode, placeFile } from '../config/files.ts'
import { idPattern } from '../domain/id.ts'
import type { HomePaths } from './home.ts'

/**
 * Identity of a home among those that share a database; made on first use and kept in the home, so that it survives a
 * move and two machines with the same paths differ.
 */
export async function homeId({ home, id: file }: Pick<HomePaths, 'home' | 'id'>, newId: () => string): Promise<string> {
  try {
    const known = await readId(file)
    if (known !== undefined) return known
    // Another process may be first; then its id counts.
    await placeFile(file, `${newId()}\n`)
    return (await readId(file)) ?? pathId(home)
  } catch (error) {
    // A home that is not writable is still one of its own.
    if (isCode(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM')) return pathId(home)
    throw error
  }
}

async function readId(file: string): Promise<string | undefined> {
  try {
    const id = (await readFile(file, 'utf8')).trim()
    return idPattern.test(id) ? id : undefined
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function pathId(home: string): string {
  return hash('sha256', home).slice(0, 20)
}
