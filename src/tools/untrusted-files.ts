import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Misuse } from '../domain/errors.ts'
import type { PathAddress } from '../domain/path-handle.ts'
import { asideName } from './exec-guard.ts'
import { inDirectory } from './git-places.ts'
import { directRoot } from './handle.ts'
import { openInside, type Root } from './inside.ts'

const maxBytes = 1_000_000

/** What was moved aside in one directory, since git or Heddle would have run it. */
export interface Untrusted {
  /** From the folder on. */
  directory: string
  files: UntrustedFile[]
  /** Of everything in it: a yes counts for what was seen. */
  hash: string
}

export interface UntrustedFile {
  /** Where it lies now, from the folder on. */
  path: string
  isExecutable: boolean
  /** A link's target stands for its content. */
  content: string
  /** Why its content cannot be shown: then the directory cannot be trusted. */
  problem?: string
}

/** One file, link or directory that was moved aside, with the bytes that are hashed and copied. */
interface Entry {
  /** From the directory on in which it was moved aside. */
  names: string[]
  kind: 'file' | 'link' | 'directory'
  isExecutable: boolean
  bytes: Buffer
  problem?: string
}

/** Everything in a folder that was moved aside. */
export async function untrustedIn(folder: PathAddress): Promise<Untrusted[]> {
  const root = await directRoot(folder)
  const found: Untrusted[] = []
  const queue = [root.path]
  // Grows while it is gone through.
  for (const path of queue) {
    await inDirectory(root, path, async (_, base) => {
      const aside: string[] = []
      for await (const entry of root.disk.entries(base)) {
        if (asideName.test(entry.name)) aside.push(entry.name)
        else if (entry.isDirectory()) queue.push(join(path, entry.name))
      }
      if (aside.length > 0) found.push(untrustedOf(root, path, await entriesOf(root, path, aside)))
    })
  }
  return found
}

/** Throws where something in a directory could not be shown, and so cannot have been seen. */
export function assertShown({ directory, files }: Untrusted): void {
  const hidden = files.find(({ problem }) => problem !== undefined)
  if (hidden)
    throw new Misuse(
      `${directory} cannot be trusted: ${hidden.path} is ${hidden.problem}`,
      'look at it yourself, and rename it by hand if it is right',
      'too_large',
    )
}

/**
 * Puts what was moved aside in a directory back under its own names, and answers those from the folder on. They are fresh
 * copies of the bytes that were hashed: a command may have kept a hard link to what was moved aside.
 */
export async function trustFiles(folder: PathAddress, directory: string, hash: string): Promise<string[]> {
  const root = await directRoot(folder)
  const path = join(root.path, directory)
  const trusted: string[] = []
  await inDirectory(root, path, async (opened, base) => {
    const aside: string[] = []
    for await (const { name } of root.disk.entries(base)) if (asideName.test(name)) aside.push(name)
    if (aside.length === 0) return
    const entries = await entriesOf(root, path, aside)
    const known = untrustedOf(root, path, entries)
    assertShown(known)
    if (!known.hash.startsWith(hash) || hash.length < 8)
      throw new Misuse('it is not what you were shown any more', 'look at it again: heddle git', 'approval_changed')
    const ownNames = aside.map((name) => name.replace(asideName, ''))
    for (const [at, name] of ownNames.entries())
      if (ownNames.indexOf(name) !== at || (await root.disk.find(join(base, name))))
        throw new Misuse(`there is a ${name} in ${directory} already`, 'remove one of the two by hand', 'taken')
    for (const [at, name] of aside.entries()) {
      await copyAfresh(root, base, { from: name, to: ownNames[at] ?? '' }, entries)
      trusted.push(join(directory, ownNames[at] ?? ''))
    }
    await opened.file.sync()
    for (const name of aside) await root.disk.removeTree(join(base, name))
    await opened.file.sync()
  })
  if (trusted.length === 0)
    throw new Misuse(`nothing was moved aside in ${directory}`, 'heddle git lists what was', 'not_found')
  return trusted
}

/** Writes the copy under a name of its own first: after a crash nothing half-written has a name that git knows. */
async function copyAfresh(
  { disk }: Root,
  base: string,
  { from, to }: { from: string; to: string },
  entries: readonly Entry[],
): Promise<void> {
  const draft = join(base, `.heddle-trust-${to}`)
  // Left by a copy that was interrupted.
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

function untrustedOf(root: Root, path: string, entries: readonly Entry[]): Untrusted {
  const directory = path.slice(root.path.length + 1) || '.'
  const hash = createHash('sha256')
  for (const { names, kind, isExecutable, bytes, problem } of entries) {
    const content = createHash('sha256').update(bytes).digest('hex')
    hash.update(`${JSON.stringify([names, kind, isExecutable, content, problem])}\n`)
  }
  const isEmpty = ({ names }: Entry) =>
    !entries.some((each) => each.names.length > names.length && names.every((name, at) => each.names[at] === name))
  const files = entries
    .filter((entry) => entry.kind !== 'directory' || entry.problem !== undefined || isEmpty(entry))
    .map(({ names, kind, isExecutable, bytes, problem }): UntrustedFile => {
      const shown = join(directory, ...names)
      const content = problem ?? (kind === 'link' ? `→ ${bytes}` : bytes.toString())
      return {
        path: kind === 'directory' ? `${shown}/` : shown,
        isExecutable,
        content,
        ...(problem !== undefined && { problem }),
      }
    })
  return { directory, files, hash: hash.digest('hex') }
}

async function entriesOf(root: Root, path: string, aside: string[]): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const name of aside.sort()) await collect(root, path, [name], entries)
  return entries
}

/** Directories come before what they hold. What cannot be read is told, and hinders no other. */
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
      return { isExecutable, problem: `too long to be shown: ${stats.size.toLocaleString('en')} bytes` }
    const bytes = Buffer.alloc(stats.size)
    return { isExecutable, bytes: bytes.subarray(0, await file.read(bytes, 0)) }
  } finally {
    await opened.file.close()
  }
}
