import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { UsageError } from '../../domain/errors.ts'
import { groupDigits } from '../../domain/text/group-digits.ts'
import type { PathAddress } from '../../domain/tools/path-handle.ts'
import { syncRoot } from '../files/handle.ts'
import { openInside, type Root } from '../files/inside.ts'
import { movedAsideName } from './exec-guard.ts'
import { inDirectory } from './git-places.ts'

const maxBytes = 1_000_000

/** Files moved aside in one directory, since git or Heddle would have run them. */
export interface UntrustedDirectory {
  /** Relative to the folder. */
  directory: string
  files: ShownFile[]
  /** Number of unchanged samples of git, which are not listed. */
  samples: number
  /** Hash of all its files: an approval counts only for what was shown. */
  hash: string
}

interface ShownFile {
  /** Current path, relative to the folder. */
  path: string
  isExecutable: boolean
  /** For a link, its target. */
  content: string
  /** Why its content cannot be shown; the directory cannot be trusted then. */
  problem?: string
}

/** Whether a file is a sample hook as git installs it. */
type IsSample = (name: string, bytes: Buffer) => boolean

/** A file, link or directory that was moved aside, with the bytes to hash and copy. */
interface Entry {
  /** Path components relative to the directory in which it was moved aside. */
  names: string[]
  kind: 'file' | 'link' | 'directory'
  isExecutable: boolean
  bytes: Buffer
  problem?: string
}

/** All files in a folder that were moved aside. Files that `isSample` knows as git's own are only counted. */
export async function untrustedIn(
  folder: PathAddress,
  isSample: IsSample = () => false,
): Promise<UntrustedDirectory[]> {
  const root = await syncRoot(folder)
  const found: UntrustedDirectory[] = []
  const queue = [root.path]
  // The loop appends to this list.
  for (const path of queue) {
    await inDirectory(root, path, async (_, base) => {
      const aside: string[] = []
      for await (const entry of root.disk.entries(base)) {
        if (movedAsideName.test(entry.name)) aside.push(entry.name)
        else if (entry.isDirectory()) queue.push(join(path, entry.name))
      }
      if (aside.length > 0) found.push(untrustedOf(root, path, await entriesOf(root, path, aside), isSample))
    })
  }
  return found
}

/** Throws if a file in the directory could not be shown to the user. */
export function assertShown({ directory, files }: UntrustedDirectory): void {
  const hidden = files.find(({ problem }) => problem !== undefined)
  if (hidden)
    throw new UsageError(
      `${directory} cannot be trusted: ${hidden.path} is ${hidden.problem}`,
      'look at it yourself, and rename it by hand if it is right',
      'too_large',
    )
}

/**
 * Restores files that were moved aside in a directory, and returns their paths relative to the folder. They are fresh
 * copies of the hashed bytes: a command may have kept a hard link to the moved file.
 */
export async function trustFiles(folder: PathAddress, directory: string, hash: string): Promise<string[]> {
  const root = await syncRoot(folder)
  const path = join(root.path, directory)
  const trusted: string[] = []
  await inDirectory(root, path, async (opened, base) => {
    const aside: string[] = []
    for await (const { name } of root.disk.entries(base)) if (movedAsideName.test(name)) aside.push(name)
    if (aside.length === 0) return
    const entries = await entriesOf(root, path, aside)
    const known = untrustedOf(root, path, entries)
    assertShown(known)
    if (!known.hash.startsWith(hash) || hash.length < 8)
      throw new UsageError('it has changed since it was shown', 'look at it again: heddle git', 'approval_changed')
    const ownNames = aside.map((name) => name.replace(movedAsideName, ''))
    for (const [at, name] of ownNames.entries())
      if (ownNames.indexOf(name) !== at || (await root.disk.find(join(base, name))))
        throw new UsageError(`there is a ${name} in ${directory} already`, 'remove one of the two by hand', 'taken')
    for (const [at, name] of aside.entries()) {
      await copyAfresh(root, base, { from: name, to: ownNames[at] ?? '' }, entries)
      trusted.push(join(directory, ownNames[at] ?? ''))
    }
    await opened.file.sync()
    for (const name of aside) await root.disk.removeTree(join(base, name))
    await opened.file.sync()
  })
  if (trusted.length === 0)
    throw new UsageError(`nothing is disabled in ${directory}`, 'heddle git lists what is', 'not_found')
  return trusted
}

/** Writes the copy under a temporary name first: after a crash no half-written file has a name that git knows. */
async function copyAfresh(
  { disk }: Root,
  base: string,
  { from, to }: { from: string; to: string },
  entries: readonly Entry[],
): Promise<void> {
  const draft = join(base, `.heddle-trust-${to}`)
  // Left by an interrupted copy.
  await disk.removeTree(draft)
  try {
    for (const { names, kind, bytes, isExecutable } of entries.filter(({ names: [top] }) => top === from)) {
      const path = join(draft, ...names.slice(1))
      if (kind === 'directory') await disk.makeDirectory(path)
      else if (kind === 'link') await disk.makeLink(bytes.toString(), path)
      else {
        const file = await disk.create(path)
        try {
          await file.write(bytes)
          await file.setMode(isExecutable ? 0o755 : 0o644)
          await file.sync()
        } finally {
          await file.close()
        }
      }
    }
    await disk.rename(draft, join(base, to))
  } catch (error) {
    await disk.removeTree(draft)
    throw error
  }
}

function untrustedOf(
  root: Root,
  path: string,
  entries: readonly Entry[],
  isSample: IsSample = () => false,
): UntrustedDirectory {
  const directory = path.slice(root.path.length + 1) || '.'
  const hash = createHash('sha256')
  for (const { names, kind, isExecutable, bytes, problem } of entries) {
    const content = createHash('sha256').update(bytes).digest('hex')
    hash.update(`${JSON.stringify([names, kind, isExecutable, content, problem])}\n`)
  }
  const isEmpty = ({ names }: Entry) =>
    !entries.some((each) => each.names.length > names.length && names.every((name, at) => each.names[at] === name))
  const listed = entries.filter((entry) => !isUnchangedSample(entry, isSample))
  const files = listed
    .filter((entry) => entry.kind !== 'directory' || entry.problem !== undefined || isEmpty(entry))
    .map(({ names, kind, isExecutable, bytes, problem }): ShownFile => {
      const shown = join(directory, ...names)
      const content = problem ?? (kind === 'link' ? `→ ${bytes}` : bytes.toString())
      return {
        path: kind === 'directory' ? `${shown}/` : shown,
        isExecutable,
        content,
        ...(problem !== undefined && { problem }),
      }
    })
  return { directory, files, samples: entries.length - listed.length, hash: hash.digest('hex') }
}

/** Git never runs a sample, and one that git itself put there says nothing that the user must see. */
function isUnchangedSample({ names, kind, bytes, problem }: Entry, isSample: IsSample): boolean {
  return kind === 'file' && problem === undefined && isSample(names.at(-1) ?? '', bytes)
}

async function entriesOf(root: Root, path: string, aside: string[]): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const name of aside.sort()) await collect(root, path, [name], entries)
  return entries
}

/** Directories come before their content. An unreadable entry is reported and does not stop the others. */
async function collect(root: Root, directory: string, names: string[], into: Entry[]): Promise<void> {
  const path = join(directory, ...names)
  const entry: Entry = { names, kind: 'file', isExecutable: false, bytes: Buffer.alloc(0) }
  into.push(entry)
  try {
    const stats = await root.disk.lstat(path)
    if (stats.isSymbolicLink()) {
      entry.kind = 'link'
      entry.bytes = Buffer.from(await root.disk.readlink(path))
      if (entry.bytes.includes('\ufffd')) entry.problem = 'a link to a name that is not UTF-8'
    } else if (stats.isDirectory()) {
      entry.kind = 'directory'
      const below: string[] = []
      for await (const { name } of root.disk.entries(path)) below.push(name)
      for (const name of below.sort()) await collect(root, directory, [...names, name], into)
    } else Object.assign(entry, await contentAt(root, path))
  } catch {
    entry.problem = 'not readable'
  }
}

async function contentAt(root: Root, path: string): Promise<Partial<Entry>> {
  const opened = await openInside(root, path)
  if (!opened) return { problem: 'not readable' }
  try {
    const { stats, file } = opened
    if (!stats.isFile()) return { problem: 'not a file' }
    const isExecutable = (stats.mode & 0o111) !== 0
    if (stats.size > maxBytes)
      return { isExecutable, problem: `too long to be shown: ${groupDigits(stats.size)} bytes` }
    const bytes = Buffer.alloc(stats.size)
    return { isExecutable, bytes: bytes.subarray(0, await file.read(bytes, 0)) }
  } finally {
    await opened.file.close()
  }
}
