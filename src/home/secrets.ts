import { readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileTrouble, isCode, removeOldDrafts, renameDurably, writeDraft } from '../config/files.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'

const secretName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const longest = 8192

/** A secret as it may be told of: its value is never part of this. */
export interface KeptSecret {
  name: string
  /** Others on this machine can open it. */
  isOpen: boolean
}

/** Keeps a value under a name, over whatever had it: a file of its own (0600) in a folder of the owner's (0700). */
export async function keepSecret(folder: string, name: string, value: string): Promise<void> {
  checkName(name)
  const kept = value.replace(/\r?\n$/, '')
  if (kept === '') throw new Misuse('the secret is empty.', `give it a value: heddle secret set ${name}`)
  if (kept.length > longest || /[\p{Cc}]/u.test(kept))
    throw new Misuse('the secret has line breaks or more than 8,192 characters.', 'give one line, as a key is')
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
      // Its name is free once it is renamed, and may be another call's by now.
      if (!isRenamed) await rm(draft, { force: true })
      throw error
    }
  } catch (error) {
    throw fileTrouble(error, 'secret_unwritable', `Cannot keep the secret ${name}`)
  }
}

export async function listSecrets(folder: string): Promise<KeptSecret[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return []
    throw fileTrouble(error, 'secret_unreadable', `Cannot read ${folder}`)
  })
  const kept = names.filter((name) => secretName.test(name)).sort()
  return Promise.all(
    kept.map(async (name) => ({ name, isOpen: ((await stat(join(folder, name))).mode & 0o077) !== 0 })),
  )
}

/** Tells whether there was one. */
export async function forgetSecret(folder: string, name: string): Promise<boolean> {
  checkName(name)
  try {
    await rm(join(folder, name))
    return true
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false
    throw fileTrouble(error, 'secret_unwritable', `Cannot remove the secret ${name}`)
  }
}

/** Looks secrets up by their names; one that is not there is undefined. */
export function secretReader(folder: string): (name: string) => string | undefined {
  return (name) => {
    try {
      return readFileSync(join(folder, name), 'utf8')
    } catch (error) {
      if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined
      throw new HeddleError(
        'secret_unreadable',
        `Cannot read the secret ${name}.`,
        `make ${join(folder, name)} readable for you, or set it anew: heddle secret set ${name}`,
      )
    }
  }
}

function checkName(name: string): void {
  if (!secretName.test(name))
    throw new Misuse('that is not the name of a secret.', 'use letters, digits, _ and -, and begin with a letter')
}
