import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode, removeOldDrafts, renameDurably, toFileError, writeDraft } from '../config/files.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'

const secretName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const maxLength = 8192

/** A stored secret, without its value. */
interface StoredSecret {
  name: string
  /** Other users of this machine can read it. */
  isOpen: boolean
}

/** Stores a secret, replacing an existing one: one file (0600) in a private folder (0700). */
export async function storeSecret(folder: string, name: string, value: string): Promise<void> {
  checkName(name)
  const kept = value.replace(/\r?\n$/, '')
  if (kept === '') throw new UsageError('the secret is empty', `give it a value: heddle secret set ${name}`)
  if (kept.length > maxLength || /[\p{Cc}]/u.test(kept))
    throw new UsageError('the secret has line breaks or more than 8,192 characters', 'give one line, as a key is')
  try {
    await mkdir(folder, { mode: 0o700, recursive: true })
    await chmod(folder, 0o700)
    const file = join(folder, name)
    const draft = await writeDraft(file, kept)
    let isRenamed = false
    try {
      await removeOldDrafts(draft)
      await renameDurably(draft, file, () => {
        isRenamed = true
      })
    } catch (error) {
      // After the rename, the draft's name may belong to another call.
      if (!isRenamed) await rm(draft, { force: true })
      throw error
    }
  } catch (error) {
    throw toFileError(error, 'secret_unwritable', `cannot keep the secret ${name}`)
  }
}

export async function listSecrets(folder: string): Promise<StoredSecret[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return []
    throw toFileError(error, 'secret_unreadable', `cannot read ${folder}`)
  })
  const kept = names.filter((name) => secretName.test(name)).sort()
  return Promise.all(
    kept.map(async (name) => ({ name, isOpen: ((await stat(join(folder, name))).mode & 0o077) !== 0 })),
  )
}

/** Removes a secret; returns whether it existed. */
export async function removeSecret(folder: string, name: string): Promise<boolean> {
  checkName(name)
  try {
    await rm(join(folder, name))
    return true
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false
    throw toFileError(error, 'secret_unwritable', `cannot remove the secret ${name}`)
  }
}

/** Looks up secrets by name; undefined if there is none. */
export function secretReader(folder: string): (name: string) => string | undefined {
  return (name) => {
    try {
      return readFileSync(join(folder, name), 'utf8')
    } catch (error) {
      if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined
      throw new HeddleError(
        'secret_unreadable',
        `cannot read the secret ${name}`,
        `make ${join(folder, name)} readable for you, or set it again: heddle secret set ${name}`,
      )
    }
  }
}

/** Names of secrets; none if the folder cannot be read: then no value of it is known to this process. */
export function readableNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => secretName.test(name))
  } catch {
    return []
  }
}

function checkName(name: string): void {
  if (!secretName.test(name))
    throw new UsageError('that is not the name of a secret', 'use letters, digits, _ and -, and begin with a letter')
}
