import { createHash } from 'node:crypto'
import { constants, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, lstat, open, readdir, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { isCode } from '../config/files.ts'
import type { HomeFile, HomeFiles } from '../domain/home-files.ts'
import { isEmptyForm } from './identity.ts'

const atTheTop = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md']
const largest = 2 * 1024 * 1024
/** Beyond these a folder is no notebook any more. */
const mostFiles = 50_000
const deepest = 16
/** PostgreSQL keeps no longer key. */
const longestPath = 1000
/** Looked at before anything else gets its turn: a few milliseconds. */
const atOnce = 500

/**
 * What the owner wrote in markdown: the files that agents read before they answer, and everything below `memory/`.
 * Links are followed only from a file to a file, and never out of the home.
 */
export function homeFiles(home: string): HomeFiles {
  return {
    async *walk() {
      const root = await realpath(home).catch(() => undefined)
      if (root === undefined) return
      yield atTheTop.flatMap((path) => fileAt(root, path))
      let left = mostFiles
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
        if (!isOurs(root, whole)) return undefined
        // Whatever has taken its place meanwhile is neither followed nor waited for.
        handle = await open(whole, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
        return await contentOf(handle, path)
      } catch (error) {
        return isCode(error, ...notForUs) ? undefined : 'later'
      } finally {
        await handle?.close().catch(() => undefined)
      }
    },
  }
}

const notForUs = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'EISDIR', 'ENXIO', 'ENAMETOOLONG'] as const

async function contentOf(handle: FileHandle, path: string): ReturnType<HomeFiles['read']> {
  const before = await handle.stat()
  if (!before.isFile() || before.size > largest) return undefined
  // A byte of room tells whether it has grown.
  const bytes = Buffer.alloc(before.size + 1)
  let length = 0
  for (let got = -1; got !== 0 && length < bytes.length; length += got)
    got = (await handle.read(bytes, length, bytes.length - length, length)).bytesRead
  const after = await handle.stat()
  if (length !== before.size || after.size !== before.size || after.mtimeMs !== before.mtimeMs) return 'later'
  const content = bytes.subarray(0, length)
  const text = content.includes(0) ? '' : new TextDecoder().decode(content)
  return {
    ...described(path, before),
    hash: createHash('sha256').update(content).digest('hex'),
    text: isEmptyForm(path, text) ? '' : text,
  }
}

/** Paths of markdown files, a few at a time. What cannot be read is left out, and so is what begins with a dot. */
async function* markdownBelow(root: string, top: string): AsyncIterable<string[]> {
  const found = await lstat(join(root, top)).catch(() => undefined)
  const folders = found?.isDirectory() ? [{ path: top, depth: 1 }] : []
  for (let next = folders.pop(); next; next = folders.pop()) {
    const { path, depth } = next
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => [])
    const seen = entries.filter(({ name }) => !name.startsWith('.'))
    if (depth < deepest)
      folders.push(
        ...seen.filter((each) => each.isDirectory()).map(({ name }) => ({ path: `${path}/${name}`, depth: depth + 1 })),
      )
    const names = seen
      .filter((each) => !each.isDirectory() && isMarkdown(each.name))
      .map(({ name }) => `${path}/${name}`)
    for (let at = 0; at < names.length; at += atOnce) yield names.slice(at, at + atOnce)
  }
}

/** Asked without a pause: a thousand of these cost less than handing one to a thread. */
function fileAt(root: string, path: string): HomeFile[] {
  if (Buffer.byteLength(path) > longestPath) return []
  const whole = join(root, path)
  try {
    const own = lstatSync(whole, { throwIfNoEntry: false })
    const stats = own?.isSymbolicLink() && isOurs(root, realpathSync(whole)) ? statSync(whole) : own
    return stats?.isFile() && stats.size <= largest ? [described(path, stats)] : []
  } catch {
    // Not ours to see, or a link to nowhere.
    return []
  }
}

function described(path: string, { size, mtimeMs }: Stats): HomeFile {
  return { path, size, modifiedAt: Math.floor(mtimeMs) }
}

/** Secrets and databases are in the home, too, and no link makes a note of them. */
function isOurs(root: string, whole: string): boolean {
  return whole.startsWith(root + sep) && isMarkdown(whole)
}

function isMarkdown(name: string): boolean {
  return /\.md$/i.test(name)
}
