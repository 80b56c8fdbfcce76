import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import { groupDigits } from '../../domain/text/group-digits.ts'
import type { Root } from '../files/inside.ts'
import { shownName } from '../files/shown-name.ts'
import { userSettings } from './git-named.ts'
import { type GitPlaces, identityOf, noGitPlaces, noteGit, noteSurroundings } from './git-places.ts'
import type { TrustedInodes } from './other-names.ts'
import { isAmong } from './protected-places.ts'

/** Max entries of a folder to scan before and after each command; with more, no command runs. */
const maxGuardedEntries = 1_000_000

/** A file in the folder that is a hard link to a protected file. */
export interface OtherName {
  path: string
  isHidden: boolean
}

/** Result of a walk through a folder. */
export interface FolderWalk extends GitPlaces {
  otherNames: OtherName[]
  /** Unreadable entries, in words. */
  unseen: string[]
}

/** Options of a walk. */
interface WalkOptions {
  inodes?: TrustedInodes | undefined
  /**
   * After a command: restores permissions that it removed, renames directories whose names are not UTF-8, and reads no
   * configuration of repositories, which may be the command's.
   */
  opens: boolean
}

/** Walks a folder breadth first, without following links. */
export async function walkFolder(root: Root, { inodes, opens }: WalkOptions): Promise<FolderWalk> {
  const found: FolderWalk = { ...noGitPlaces(), otherNames: [], unseen: [] }
  const wanted = inodes && inodes.size > 0 ? inodes : undefined
  const user = await userSettings(root)
  if (!opens)
    await noteSurroundings(root, user, found).catch((error) => found.unseen.push(describeError(root.path, error)))
  let left = maxGuardedEntries
  const queue = [root.path]
  // The loop appends to this list.
  for (const path of queue) {
    const entries = await listEntries(root, path, found, opens)
    left -= entries.length
    if (left < 0) {
      found.unseen.push(`the folder has more than ${groupDigits(maxGuardedEntries)} entries`)
      return found
    }
    if (wanted) await noteOtherNames(root, path, entries, wanted, found)
    const names = new Set(entries.map(({ name }) => name))
    await noteGit(root, { path, names }, found, { user, isTrusted: !opens }).catch((error) =>
      found.unseen.push(describeError(path, error)),
    )
    for (const entry of entries) if (entry.isDirectory()) queue.push(join(path, entry.name))
  }
  return found
}

/** A walk that throws if something could not be read. */
export async function wholeWalk(root: Root, options: Omit<WalkOptions, 'opens'>): Promise<FolderWalk> {
  const found = await walkFolder(root, { ...options, opens: false })
  const [first] = found.unseen
  if (first !== undefined)
    throw new HeddleError('forbidden', `no command runs in this folder: ${first}`, 'tell the user what is in the way')
  return found
}

async function noteOtherNames(
  root: Root,
  path: string,
  entries: Dirent[],
  wanted: TrustedInodes,
  { otherNames }: FolderWalk,
): Promise<void> {
  for (const entry of entries.filter((each) => each.isFile())) {
    const place = join(path, entry.name)
    // The protected file itself.
    if (isAmong(root.places.readOnly, place)) continue
    const stats = await root.disk.find(place)
    const kind = stats && wanted.get(identityOf(stats))
    if (kind) otherNames.push({ path: place, isHidden: kind === 'hidden' })
  }
}

/** By path only: whatever a walk finds is opened safely before it is used. */
async function listEntries(root: Root, path: string, found: FolderWalk, opens: boolean): Promise<Dirent[]> {
  const { disk, places } = root
  if (isAmong(places.hidden, path)) return []
  try {
    const entries = await disk.list(path)
    if (!entries.some(({ name }) => name.includes('\ufffd'))) return entries
    const unnameable = await disk.unnameable(path)
    if (unnameable.length === 0) return entries
    if (!opens) {
      found.unseen.push(`${shownName(path)} holds a directory whose name is not UTF-8: rename it`)
      return entries
    }
    for (const [at, name] of unnameable.entries())
      await disk.renameBytes(Buffer.concat([Buffer.from(`${path}/`), name]), join(path, `renamed-${at + 1}.untrusted`))
    return disk.list(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || !(await isOurs(root, path))) return []
    if (code === 'EACCES' && opens) {
      try {
        await disk.grantOwnerAccess(path)
        return await disk.list(path)
      } catch (again) {
        found.unseen.push(describeError(path, again))
        return []
      }
    }
    found.unseen.push(
      code === 'EACCES' ? `${shownName(path)} cannot be listed: chmod u+rx '${path}'` : describeError(path, error),
    )
    return []
  }
}

/** Commands cannot write to another user's directory. */
async function isOurs({ disk }: Root, path: string): Promise<boolean> {
  try {
    return (await disk.find(path))?.uid === process.getuid?.()
  } catch {
    return true
  }
}

function describeError(path: string, error: unknown): string {
  return `${shownName(path.slice(-200))}: ${error instanceof Error ? error.message.slice(0, 200) : error}`
}
