import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '../config/files.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import { homeTemplates } from './templates.ts'

/** Files that users write for their agents, in reading order. */
const identityFiles = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md', 'memory/MEMORY.md'] as const
// Templates to fill in: unchanged, they contain nothing useful for a model.
const forms: readonly string[] = ['USER.md', 'TOOLS.md', 'IDENTITY.md', 'memory/MEMORY.md']
const maxLength = 20_000
const cacheMs: Millis = 1000

interface IdentityFile {
  name: string
  text: string
}

/** Whether a file is still the unchanged template of a new home. */
export function isEmptyForm(name: string, text: string): boolean {
  return forms.includes(name) && text === homeTemplates[name]
}

/** The identity files, read at most once a second: a change takes effect in the user's next turn. */
export function identityFilesOf(home: string, clock: Pick<Clock, 'monotonic'>): () => Promise<IdentityFile[]> {
  let files: Promise<IdentityFile[]> | undefined
  let readAt = 0
  return () => {
    const now = clock.monotonic()
    if (!files || now - readAt >= cacheMs) {
      files = readIdentityFiles(home)
      readAt = now
    }
    return files
  }
}

/** Reads the identity files. Missing, empty and unchanged template files are left out. */
export async function readIdentityFiles(home: string): Promise<IdentityFile[]> {
  const read = await Promise.all(identityFiles.map((name) => readIdentityFile(home, name)))
  return read.filter((file) => file !== undefined)
}

async function readIdentityFile(home: string, name: string): Promise<IdentityFile | undefined> {
  const text = await readFile(join(home, name), 'utf8').catch((error: unknown) => {
    // A folder or an unreadable file counts as missing; doctor reports it.
    if (isCode(error, 'ENOENT', 'EISDIR', 'EACCES', 'ENOTDIR')) return ''
    throw error
  })
  if (text.trim() === '' || isEmptyForm(name, text)) return undefined
  const kept = text.trim()
  return {
    name,
    text:
      kept.length > maxLength
        ? `${kept.slice(0, maxLength)}\n… [cut: ${kept.length - maxLength} more characters of ${name}]`
        : kept,
  }
}
