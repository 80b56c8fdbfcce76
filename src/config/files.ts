import { link, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'

/**
 * Creates a complete file (0600) unless the path is taken, and returns whether it did. An existing file is left unchanged,
 * and no process ever sees half a file: only synced content gets the name.
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

/** Drafts older than a minute were left by killed processes. */
const maxDraftAge = 60_000

/** Removes drafts of killed processes beside a new one; their age is measured by the disk's own clock. */
export async function removeOldDrafts(draft: string): Promise<void> {
  const folder = dirname(draft)
  const { mtimeMs: now } = await stat(draft)
  for (const name of await readdir(folder)) {
    if (!/^\..+\.\d+-\d+\.tmp$/.test(name)) continue
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (found && now - found.mtimeMs > maxDraftAge) await rm(join(folder, name), { force: true })
  }
}

/** Renames a file, replacing an existing one; durable when it resolves. */
export async function renameDurably(from: string, to: string, onRenamed: () => void): Promise<void> {
  await rename(from, to)
  onRenamed()
  await syncDirectory(dirname(to))
}

/** fsync: makes new names in a folder durable. */
export async function syncDirectory(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether an error has one of these system codes. */
export function isCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

const reasons = new Map<string, [why: string, remedy: string]>(
  Object.entries({
    EROFS: ['the file system is read-only', 'mount it writable, or choose another home with --home DIR'],
    EACCES: ['permission is denied', 'make the folder writable for this user, or choose another home with --home DIR'],
    EPERM: ['permission is denied', 'make the folder writable for this user, or choose another home with --home DIR'],
    ENOSPC: ['the disk is full', 'free some space and try again'],
    EDQUOT: ['the disk quota is used up', 'free some space and try again'],
    EEXIST: ['there is a file where a folder should be', 'move that file away, or choose another home with --home DIR'],
    ENOTDIR: [
      'there is a file where a folder should be',
      'move that file away, or choose another home with --home DIR',
    ],
  }),
)

/** Converts a file system error to an error with a remedy; returns any other error unchanged. */
export function toFileError(error: unknown, code: string, what: string): unknown {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return error
  const unknown = [`${error.syscall} gave ${error.code}`, 'check the folder and its file system']
  const [why, remedy] = reasons.get(String(error.code)) ?? unknown
  return new HeddleError(code, `${what}: ${why}`, remedy ?? '', { cause: error })
}

/** Writes a complete file (0600) beside a path, under a unique name. The caller renames or removes it. */
export async function writeDraft(path: string, text: string): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    // Two machines that share the folder may have equal process ids: the exclusive open decides.
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
