import { hash } from 'node:crypto'
import { constants, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, lstat, open, readdir, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { isCode } from '../config/files.ts'
import type { HomeFile, HomeFiles } from '../domain/home-files.ts'
import { isEmptyForm } from './identity.ts'

const topFiles = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md']
const maxBytes = 2 * 1024 * 1024
/** Limits of the indexed files. */
const maxFiles = 50_000
const maxDepth = 16
/** PostgreSQL cannot index a longer key. */
const maxPathBytes = 1000
/** Batch size: takes a few milliseconds, then other work gets its turn. */
const batchSize = 500

/**
 * The user's markdown files in the home: those that agents read before they answer, and everything below `memory/`. Only
 * links to files are followed, and never out of the home.
 */
export function homeFiles(home: string, id = ''): HomeFiles {
  return {
    home: id,
    async *walk() {
      const root = await realpath(home).catch(() => undefined)
      if (root === undefined) return
      yield topFiles.flatMap((path) => fileAt(root, path))
      let left = maxFiles
      for await (const names of markdownBelow(root, 'memory')) {
        if (left <= 0) return
        yield names.slice(0, left).flatMap((path) => fileAt(root, path))
        left -= names.length
      }
    },
    async read(path) {
      let handle: FileHandle | undefined
      try {
        const root = await realpath(home)
        const whole = await realpath(join(root, path))
        if (!isNoteFile(root, whole)) return undefined
        // Must not follow a link or block on a pipe that replaced it meanwhile.
        handle = await open(whole, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
        return await readWhole(handle, path)
      } catch (error) {
        return isCode(error, ...missingCodes) ? undefined : 'later'
      } finally {
        await handle?.close().catch(() => undefined)
      }
    },
  }
}

const missingCodes = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'EISDIR', 'ENXIO', 'ENAMETOOLONG'] as const

async function readWhole(handle: FileHandle, path: string): ReturnType<HomeFiles['read']> {
  const before = await handle.stat()
  if (!before.isFile() || before.size > maxBytes) return undefined
  // One byte more, to detect that it has grown.
  const bytes = Buffer.alloc(before.size + 1)
  let length = 0
  for (let got = -1; got !== 0 && length < bytes.length; length += got)
    got = (await handle.read(bytes, length, bytes.length - length, length)).bytesRead
  const after = await handle.stat()
  if (length !== before.size || after.size !== before.size || after.mtimeMs !== before.mtimeMs) return 'later'
  const content = bytes.subarray(0, length)
  const text = content.includes(0) ? '' : new TextDecoder().decode(content)
  return {
    ...toHomeFile(path, before),
    hash: hash('sha256', content),
    text: isEmptyForm(path, text) ? '' : text,
  }
}

/** Paths of markdown files, in batches. Unreadable and hidden entries are left out. */
async function* markdownBelow(root: string, top: string): AsyncIterable<string[]> {
  const found = await lstat(join(root, top)).catch(() => undefined)
  const folders = found?.isDirectory() ? [{ path: top, depth: 1 }] : []
  for (let next = folders.pop(); next; next = folders.pop()) {
    const { path, depth } = next
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => [])
    const seen = entries.filter(({ name }) => !name.startsWith('.'))
    if (depth < maxDepth)
      folders.push(
        ...seen.filter((each) => each.isDirectory()).map(({ name }) => ({ path: `${path}/${name}`, depth: depth + 1 })),
      )
    const names = seen
      .filter((each) => !each.isDirectory() && isMarkdown(each.name))
      .map(({ name }) => `${path}/${name}`)
    for (let at = 0; at < names.length; at += batchSize) yield names.slice(at, at + batchSize)
  }
}

/** Synchronous: a thousand of these calls cost less than one round trip to a thread. */
function fileAt(root: string, path: string): HomeFile[] {
  if (Buffer.byteLength(path) > maxPathBytes) return []
  const whole = join(root, path)
  try {
    const own = lstatSync(whole, { throwIfNoEntry: false })
    const stats = own?.isSymbolicLink() && isNoteFile(root, realpathSync(whole)) ? statSync(whole) : own
    return stats?.isFile() && stats.size <= maxBytes ? [toHomeFile(path, stats)] : []
  } catch {
    // Not readable, or a dangling link.
    return []
  }
}

function toHomeFile(path: string, { size, mtimeMs }: Stats): HomeFile {
  return { path, size, modifiedAt: Math.floor(mtimeMs) }
}

/** Only markdown inside the home: a link must not expose secrets and databases, which are in the home too. */
function isNoteFile(root: string, whole: string): boolean {
  return whole.startsWith(root + sep) && isMarkdown(whole)
}

function isMarkdown(name: string): boolean {
  return /\.md$/i.test(name)
}
