import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '../config/files.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import { homeTemplates } from './templates.ts'

/** What people write for their agents, in the order in which agents read it. */
const identityFiles = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md', 'memory/MEMORY.md'] as const
// Forms to fill in: as they come with a new home they say nothing that is worth a model's time.
const forms: readonly string[] = ['USER.md', 'TOOLS.md', 'IDENTITY.md', 'memory/MEMORY.md']
const longest = 20_000
const freshFor: Millis = 1000

export interface IdentityFile {
  name: string
  text: string
}

/** Whether a file is still as it came with a new home, and has nothing in it but questions. */
export function isEmptyForm(name: string, text: string): boolean {
  return forms.includes(name) && text === homeTemplates[name]
}

/** What the home says to its agents, read again at most once a second: a change is seen by the next turn of a person. */
export function identityFilesOf(home: string, clock: Pick<Clock, 'monotonic'>): () => Promise<IdentityFile[]> {
  let files: Promise<IdentityFile[]> | undefined
  let readAt = 0
  return () => {
    const now = clock.monotonic()
    if (!files || now - readAt >= freshFor) {
      files = readIdentityFiles(home)
      readAt = now
    }
    return files
  }
}

/** Reads what the home says to its agents. Files that are missing, empty or still as they came are left out. */
export async function readIdentityFiles(home: string): Promise<IdentityFile[]> {
  const read = await Promise.all(identityFiles.map((name) => readIdentityFile(home, name)))
  return read.filter((file) => file !== undefined)
}

async function readIdentityFile(home: string, name: string): Promise<IdentityFile | undefined> {
  const text = await readFile(join(home, name), 'utf8').catch((error: unknown) => {
    // A folder or a file that we may not read is as good as none; doctor tells.
    if (isCode(error, 'ENOENT', 'EISDIR', 'EACCES', 'ENOTDIR')) return ''
    throw error
  })
  if (text.trim() === '' || isEmptyForm(name, text)) return undefined
  const kept = text.trim()
  return {
    name,
    text:
      kept.length > longest
        ? `${kept.slice(0, longest)}\n… [cut: ${kept.length - longest} more characters of ${name}]`
        : kept,
  }
}
