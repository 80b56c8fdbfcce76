import { link, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'

/**
 * Puts a complete file (0600) at a path that is free, and says whether it did. What is there already stays as it is,
 * and nobody ever sees half a file: a name is given only to content that is on disk.
 */
export async function placeFile(path: string, text: string): Promise<boolean> {
  const draft = await writeDraft(path, text)
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  } finally {
    await unlink(draft)
  }
}

/** A minute is longer than any draft takes: an older one was left by a process that was killed. */
const oldDraft = 60_000

/** Removes drafts that killed processes left beside a new one, told by the disk's own clock. */
export async function removeOldDrafts(draft: string): Promise<void> {
  const folder = dirname(draft)
  const { mtimeMs: now } = await stat(draft)
  for (const name of await readdir(folder)) {
    if (!/^\..+\.\d+-\d+\.tmp$/.test(name)) continue
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (found && now - found.mtimeMs > oldDraft) await rm(join(folder, name), { force: true })
  }
}

/** Gives a file another name, over whatever had it; durable when it returns. */
export async function renameDurably(from: string, to: string, renamed: () => void): Promise<void> {
  await rename(from, to)
  renamed()
  await syncFolder(dirname(to))
}

/** Makes new names in a folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether a failure of the file system is the expected one. */
export function isCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

const troubles = new Map<string, [why: string, remedy: string]>(
  Object.entries({
    EROFS: ['the file system is read-only', 'mount it writable, or choose another home with --home DIR'],
    EACCES: ['permission is denied', 'make the folder writable for this user, or choose another home with --home DIR'],
    EPERM: ['permission is denied', 'make the folder writable for this user, or choose another home with --home DIR'],
    ENOSPC: ['the disk is full', 'free some space and try again'],
    EDQUOT: ['the disk quota is used up', 'free some space and try again'],
    EEXIST: ['a file stands where a folder should be', 'move that file away, or choose another home with --home DIR'],
    ENOTDIR: ['a file stands where a folder should be', 'move that file away, or choose another home with --home DIR'],
  }),
)

/** A failure of the file system as an error with its remedy; any other failure as it is. */
export function fileTrouble(error: unknown, code: string, what: string): unknown {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return error
  const unknown = [`${error.syscall} gave ${error.code}`, 'look at the folder and its file system']
  const [why, remedy] = troubles.get(String(error.code)) ?? unknown
  return new HeddleError(code, `${what}: ${why}.`, remedy ?? '', { cause: error })
}

/** Writes a complete file (0600) beside a path, under a name that is this call's alone. Whoever asked gives it away. */
export async function writeDraft(path: string, text: string): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    // Two machines that share the folder can have equal process ids: the exclusive open decides.
    const draft = join(dirname(path), `.${basename(path)}.${process.pid}-${attempt}.tmp`)
    try {
      const handle = await open(draft, 'wx', 0o600)
      try {
        await handle.chmod(0o600)
        await handle.writeFile(text)
        await handle.sync()
      } catch (error) {
        await unlink(draft)
        throw error
      } finally {
        await handle.close()
      }
      return draft
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error
    }
  }
}
