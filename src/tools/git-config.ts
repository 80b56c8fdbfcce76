import { dirname, join, resolve } from 'node:path'
import type { Disk } from './disk.ts'

const maxBytes = 1_000_000
const maxIncludes = 10

export interface GitSetting {
  /** Section and key in small letters, without what stands in quotes after a section. */
  name: string
  value: string
  /** The file that it stands in. */
  file: string
}

/** The settings of a configuration file and of all that it includes, in their order. */
export async function readGitSettings(disk: Disk, file: string, userHome: string, depth = 0): Promise<GitSetting[]> {
  const text = await textOf(disk, file)
  if (text === undefined || depth > maxIncludes) return []
  const settings: GitSetting[] = []
  for (const setting of parseGitConfig(text, file)) {
    settings.push(setting)
    if (setting.name !== 'include.path' && setting.name !== 'includeif.path') continue
    const included = resolve(dirname(file), inHome(setting.value, userHome))
    settings.push(...(await readGitSettings(disk, included, userHome, depth + 1)))
  }
  return settings
}

export function inHome(path: string, userHome: string): string {
  return path === '~' || path.startsWith('~/') ? join(userHome, path.slice(2)) : path
}

/** The text of a file of git's, wherever it lies; nothing of it reaches a model. */
export async function textOf(disk: Disk, path: string): Promise<string | undefined> {
  try {
    const file = await disk.open(await disk.realpath(path))
    try {
      const { size, isFile } = await statsOf(file)
      if (!isFile) return undefined
      const into = Buffer.alloc(Math.min(size, maxBytes))
      return into.toString('utf8', 0, await file.read(into, 0))
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

async function statsOf(file: Awaited<ReturnType<Disk['open']>>): Promise<{ size: number; isFile: boolean }> {
  const stats = await file.stat()
  return { size: stats.size, isFile: stats.isFile() }
}

/** As git reads it: quotes and escapes inside of values, comments behind them, lines that go on. */
export function parseGitConfig(text: string, file: string): GitSetting[] {
  let section = ''
  return text
    .replace(/\\\r?\n/g, '')
    .split(/\r?\n/)
    .flatMap((line) => {
      const head = /^\s*\[\s*([\w.-]+)[^\]]*\]?/.exec(line)
      if (head) section = (head[1] ?? '').toLowerCase()
      const [, key = '', raw = ''] =
        /^\s*([A-Za-z][\w-]*)\s*=\s*(.*)$/.exec(head ? line.slice(head[0].length) : line) ?? []
      const value = plainValue(raw)
      return key === '' || value === '' ? [] : [{ name: `${section}.${key.toLowerCase()}`, value, file }]
    })
}

function plainValue(raw: string): string {
  let [value, isQuoted] = ['', false]
  for (let at = 0; at < raw.length; at++) {
    const letter = raw[at] ?? ''
    if (letter === '\\') value += raw[++at] ?? ''
    else if (letter === '"') isQuoted = !isQuoted
    else if (!isQuoted && (letter === '#' || letter === ';')) break
    else value += letter
  }
  return value.trim()
}
