import { createHash } from 'node:crypto'
import type { OpenFile, PathHandle } from '../domain/path-handle.ts'

const mostWords = 30
const mostBytes = 4 * 1024 * 1024

/**
 * What the files hold that a command names: whoever approves `./deploy.sh` approves the script as it is. By word, since
 * nobody but a shell knows what a command means; one that hides a name loses only this, not the walls around it.
 */
export async function operandsOf(directory: PathHandle, command: string): Promise<Record<string, string>> {
  const words = [...new Set(command.split(/[\s'"`;|&()<>$={}]+/))].filter((word) => /^[^-/~][^*?[\]\\]*$/.test(word))
  const hashes: Record<string, string> = {}
  for (const word of words.slice(0, mostWords)) {
    const hash = await hashAt(
      directory,
      word.split('/').filter((name) => name !== '' && name !== '.'),
    ).catch(() => undefined)
    if (hash !== undefined) hashes[word] = hash
  }
  return hashes
}

function hashAt(directory: PathHandle, [name, ...rest]: string[]): Promise<string | undefined> {
  if (name === undefined || name === '..') return Promise.resolve(undefined)
  return directory.openDirectory(async ({ at }) =>
    rest.length > 0 ? hashAt(at(name), rest) : at(name).openFile(hashOf),
  )
}

async function hashOf(file: OpenFile): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(65_536)
  for (let at = 0; at < Math.min(file.bytes, mostBytes); ) {
    const read = await file.read(buffer, at)
    if (read === 0) break
    hash.update(buffer.subarray(0, read))
    at += read
  }
  return `${file.bytes}:${hash.digest('hex')}`
}
