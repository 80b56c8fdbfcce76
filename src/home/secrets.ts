import { readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode, removeOldDrafts, renameDurably, toFileError, writeDraft } from '../config/files.ts'
import { changeTexts } from '../config/secrets.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'

const secretName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const maxLength = 8192

/** A stored secret, without its value. */
interface StoredSecret {
  name: string
  /** Other users of this machine can read it. */
  isOpen: boolean
}

/** Stores a secret, replacing an existing one: one file (0600) in a private folder (0700). */
export async function storeSecret(folder: string, name: string, value: string): Promise<void> {
  checkName(name)
  const kept = value.replace(/\r?\n$/, '')
  if (kept === '') throw new UsageError('the secret is empty', `give it a value: heddle secret set ${name}`)
  if (kept.length > maxLength || /[\p{Cc}]/u.test(kept))
    throw new UsageError('the secret has line breaks or more than 8,192 characters', 'give one line, as a key is')
  try {
    await mkdir(folder, { mode: 0o700, recursive: true })
    await chmod(folder, 0o700)
    const file = join(folder, name)
    const draft = await writeDraft(file, kept)
    let isRenamed = false
    try {
      await removeOldDrafts(draft)
      await renameDurably(draft, file, () => {
        isRenamed = true
      })
    } catch (error) {
      // After the rename, the draft's name may belong to another call.
      if (!isRenamed) await rm(draft, { force: true })
      throw error
    }
  } catch (error) {
    throw toFileError(error, 'secret_unwritable', `cannot keep the secret ${name}`)
  }
}

export async function listSecrets(folder: string): Promise<StoredSecret[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return []
    throw toFileError(error, 'secret_unreadable', `cannot read ${folder}`)
  })
  const kept = names.filter((name) => secretName.test(name)).sort()
  return Promise.all(
    kept.map(async (name) => ({ name, isOpen: ((await stat(join(folder, name))).mode & 0o077) !== 0 })),
  )
}

/** Removes a secret; returns whether it existed. */
export async function removeSecret(folder: string, name: string): Promise<boolean> {
  checkName(name)
  try {
    await rm(join(folder, name))
    return true
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false
    throw toFileError(error, 'secret_unwritable', `cannot remove the secret ${name}`)
  }
}

/** Looks up secrets by name; undefined if there is none. */
export function secretReader(folder: string): (name: string) => string | undefined {
  return (name) => {
    try {
      return readFileSync(join(folder, name), 'utf8')
    } catch (error) {
      if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined
      throw new HeddleError(
        'secret_unreadable',
        `cannot read the secret ${name}`,
        `make ${join(folder, name)} readable for you, or set it again: heddle secret set ${name}`,
      )
    }
  }
}

/** Shorter values are in many texts that have nothing to do with the secret; those below `minInside` are in longer words. */
const minMarked = 4
const minInside = 12
/** Min characters of a part of a value that a text begins or ends with: where a long text was cut, it is marked, too. */
const minCut = 8

/**
 * Marks the values of stored secrets in plain data, as `[secret:NAME]`: what leaves the home has the name and never the
 * value. Notices at once when secrets change.
 */
export function secretMarker(folder: string): <T>(value: T) => T {
  let read: { at: number; marks: Mark[] } = { at: -1, marks: [] }
  return (value) => {
    const at = secretsChangedAt(folder)
    if (at !== read.at) read = { at, marks: at === 0 ? [] : marksOf(folder) }
    if (read.marks.length === 0) return value
    return changeTexts(value, (text) => read.marks.reduce(marked, text))
  }
}

/** When a secret was last stored or removed; 0 if there is none. */
function secretsChangedAt(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

interface Mark {
  value: string
  pattern: RegExp
  name: string
}

function marked(text: string, { value, pattern, name }: Mark): string {
  let shown = text.replace(pattern, name)
  if (value.length < minInside) return shown
  const last = shown.lastIndexOf(value.slice(0, minCut))
  if (last >= 0 && value.startsWith(shown.slice(last).replace(/…$/u, ''))) shown = shown.slice(0, last) + name
  const first = shown.indexOf(value.slice(-minCut))
  return first >= 0 && value.endsWith(shown.slice(0, first + minCut)) ? name + shown.slice(first + minCut) : shown
}

function marksOf(folder: string): Mark[] {
  const find = secretReader(folder)
  const secrets = readableNames(folder)
    .map((name) => ({ name, value: readableValue(find, name) }))
    .filter(({ value }) => value.length >= minMarked)
  // Longest first: one secret may be a part of another.
  return secrets
    .sort((a, b) => b.value.length - a.value.length)
    .map(({ name, value }) => ({ value, pattern: valuePattern(value), name: `[secret:${name}]` }))
}

/** None if the folder cannot be read: then no value of it is known to this process. */
function readableNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => secretName.test(name))
  } catch {
    return []
  }
}

/** Empty if it cannot be read, or is no file: runs that do not need it must go on. */
function readableValue(find: (name: string) => string | undefined, name: string): string {
  try {
    return find(name) ?? ''
  } catch {
    return ''
  }
}

/** Finds a value as it is, as texts write it (in other line breaks or Unicode forms), and as addresses and JSON do. */
function valuePattern(value: string): RegExp {
  const forms = [value, value.normalize('NFC'), value.normalize('NFD'), encodeURIComponent(value), inJson(value)]
  const anySpace = (form: string) =>
    form
      .split(/(?<=\S)\s+(?=\S)/u)
      .map(RegExp.escape)
      .join('\\s+')
  const written = `(?:${[...new Set(forms)].map(anySpace).join('|')})`
  return new RegExp(value.length < minInside ? `(?<![\\p{L}\\p{N}])${written}(?![\\p{L}\\p{N}])` : written, 'gu')
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

function checkName(name: string): void {
  if (!secretName.test(name))
    throw new UsageError('that is not the name of a secret', 'use letters, digits, _ and -, and begin with a letter')
}
