import { dirname, join, resolve } from 'node:path'
import type { Disk } from '../files/disk.ts'

const maxBytes = 1_000_000
// Max files that one configuration may consist of; each is read once.
const maxFiles = 200

export interface GitSetting {
  /** Section and key in lower case, without the quoted subsection. */
  name: string
  value: string
  /** The file that holds it. */
  file: string
}

/** Settings of a configuration file and all its includes, in order; conditions of includes count as met. */
export async function readGitSettings(
  disk: Disk,
  file: string,
  userHome: string,
  seen: Set<string> = new Set(),
): Promise<GitSetting[]> {
  if (seen.has(file) || seen.size >= maxFiles) return []
  seen.add(file)
  const text = await readGitFile(disk, file)
  if (text === undefined) return []
  const settings: GitSetting[] = []
  for (const setting of parseGitConfig(text, file)) {
    settings.push(setting)
    const included = includedBy(setting, userHome)
    if (included !== undefined) settings.push(...(await readGitSettings(disk, included, userHome, seen)))
  }
  return settings
}

/** The file that a setting includes. */
export function includedBy({ name, value, file }: GitSetting, userHome: string): string | undefined {
  return /^include(if)?\.path$/.test(name) ? resolve(dirname(file), inHome(value, userHome)) : undefined
}

/** Expands `~`; homes of other users are assumed beside it. */
export function inHome(path: string, userHome: string): string {
  const [, user, rest = ''] = /^~([^/]*)(?:\/(.*))?$/s.exec(path) ?? []
  return user === undefined ? path : user === '' ? join(userHome, rest) : join(dirname(userHome), user, rest)
}

/** Text of a git file, also outside the folder; it never reaches a model. */
export async function readGitFile(disk: Disk, path: string): Promise<string | undefined> {
  try {
    // Most are missing, and a thrown error is slower than this stat.
    if (!(await disk.find(path))) return undefined
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

/** Parses like git: quotes and escapes in values, trailing comments, continued lines. */
function parseGitConfig(text: string, file: string): GitSetting[] {
  let section = ''
  return wholeLines(text).flatMap((line) => {
    const head = /^\s*\[\s*([\w.-]+)(?:\s*"(?:[^"\\]|\\.)*")?[^\]]*\]?/.exec(line)
    if (head) section = (head[1] ?? '').toLowerCase()
    const [, key = '', raw = ''] =
      /^\s*([A-Za-z][\w-]*)\s*=\s*(.*)$/.exec(head ? line.slice(head[0].length) : line) ?? []
    const value = plainValue(raw)
    return key === '' || value === '' ? [] : [{ name: `${section}.${key.toLowerCase()}`, value, file }]
  })
}

/** Joins continued lines; a comment does not continue. */
function wholeLines(text: string): string[] {
  const lines: string[] = []
  let begun = ''
  for (const line of text.replace(/^\ufeff/, '').split(/\r?\n/)) {
    const whole = begun + line
    const isContinued = /(?<!\\)(?:\\\\)*\\$/.test(whole) && !hasComment(whole)
    begun = isContinued ? whole.slice(0, -1) : ''
    if (!isContinued) lines.push(whole)
  }
  return begun === '' ? lines : [...lines, begun]
}

function hasComment(line: string): boolean {
  return /[#;]/.test(line.replace(/\\./g, '').replace(/"[^"]*("|$)/g, ''))
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
