import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import { type GitPlaces, identityOf, noGitPlaces, noteGit } from './git-places.ts'
import type { Root } from './inside.ts'
import type { TrustedInodes } from './other-names.ts'
import { isAmong } from './protected-places.ts'
import { shownName } from './shown-name.ts'

/** Entries of a folder that are looked through before and after each command; with more, no command runs. */
export const maxGuardedEntries = 1_000_000

/** Files in the folder that are, by another name, files of a protected place. */
export interface OtherName {
  path: string
  isHidden: boolean
}

/** What a walk through a folder found. */
export interface Walked extends GitPlaces {
  otherNames: OtherName[]
  /** What could not be looked at, in words; empty when all of it was. */
  unseen: string[]
}

/** What a walk does with a directory that hides what is in it. */
export interface Walking {
  globalHooksPath?: string | undefined
  inodes?: TrustedInodes | undefined
  /** A command may have closed it: it is opened again, and what has no name in UTF-8 gets another one. */
  opens: boolean
}

/** Goes through a folder, the upper directories first, without following a link. */
export async function walkFolder(root: Root, { globalHooksPath, inodes, opens }: Walking): Promise<Walked> {
  const found: Walked = { ...noGitPlaces(), otherNames: [], unseen: [] }
  const wanted = inodes && inodes.size > 0 ? inodes : undefined
  let left = maxGuardedEntries
  const queue = [root.path]
  // Grows while it is gone through.
  for (const path of queue) {
    const entries = await listed(root, path, found, opens)
    left -= entries.length
    if (left < 0) {
      found.unseen.push(`the folder has more than ${maxGuardedEntries.toLocaleString('en')} entries`)
      return found
    }
    if (wanted) await noteOtherNames(root, path, entries, wanted, found)
    const names = new Set(entries.map(({ name }) => name))
    await noteGit(root, { path, names }, found, globalHooksPath).catch((error) => found.unseen.push(told(path, error)))
    for (const entry of entries) if (entry.isDirectory()) queue.push(join(path, entry.name))
  }
  return found
}

/** A walk that must see everything. */
export async function wholeWalk(root: Root, walking: Omit<Walking, 'opens'>): Promise<Walked> {
  const found = await walkFolder(root, { ...walking, opens: false })
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
  { otherNames }: Walked,
): Promise<void> {
  for (const entry of entries.filter((each) => each.isFile())) {
    const place = join(path, entry.name)
    // Its own name is no other one.
    if (isAmong(root.places.readOnly, place)) continue
    const stats = await root.disk.find(place)
    const kind = stats && wanted.get(identityOf(stats))
    if (kind) otherNames.push({ path: place, isHidden: kind === 'hidden' })
  }
}

/** By its path alone: whatever a walk finds is opened safely before anything is made of it. */
async function listed(root: Root, path: string, found: Walked, opens: boolean): Promise<Dirent[]> {
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
        await disk.open700(path)
        return await disk.list(path)
      } catch (again) {
        found.unseen.push(told(path, again))
        return []
      }
    }
    found.unseen.push(
      code === 'EACCES' ? `${shownName(path)} cannot be listed: chmod u+rx '${path}'` : told(path, error),
    )
    return []
  }
}

/** What is another's, commands cannot write to either. */
async function isOurs({ disk }: Root, path: string): Promise<boolean> {
  try {
    return (await disk.find(path))?.uid === process.getuid?.()
  } catch {
    return true
  }
}

function told(path: string, error: unknown): string {
  return `${shownName(path.slice(-200))}: ${error instanceof Error ? error.message.slice(0, 200) : error}`
}
