import { realpath, stat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { Misuse } from '../domain/errors.ts'
import type { Part } from '../domain/message.ts'
import { fileFrom, type Ground } from './attachments.ts'

/** `@path`, or `@"path with blanks"`, where a word may begin; the `@` of an address of mail stands in a word. */
const mention = /(?<=^|[\s("'[])@(?:"([^"\n]+)"|([^\s"]+))/g
const afterWords = /[.,;:!?)\]}'’”]+$/

/**
 * The files that a message names. `@./x` is always one; `@x` is one if the folder has it, and else a word like any other.
 * At the very beginning an agent of that name goes first.
 */
export async function filesNamedIn(
  text: string,
  { from: folder, secrets }: Ground,
  isAgent: (name: string) => Promise<boolean>,
): Promise<Part[]> {
  const parts = new Map<string, Part>()
  for (const { 0: whole, 1: quoted, 2: word = '', index } of text.matchAll(mention)) {
    const path = quoted ?? (await spelled(word, folder))
    if (!path.startsWith('./') && !(await isFileIn(path, folder))) continue
    if (index === 0 && !path.startsWith('./') && (await isAgent(whole.slice(1)))) continue
    const place = resolve(folder, path)
    if (parts.has(place)) continue
    if (!(await liesIn(place, folder))) throw outside(path)
    parts.set(place, await fileFrom(path, { from: folder, secrets }))
  }
  return [...parts.values()]
}

/** What ends a sentence rarely ends a path. */
async function spelled(word: string, folder: string): Promise<string> {
  const bare = word.replace(afterWords, '')
  return bare !== word && !(await isFileIn(word, folder)) ? bare : word
}

/** Whether the folder holds a file of this name: what lies elsewhere is never taken for granted. */
async function isFileIn(path: string, folder: string): Promise<boolean> {
  const place = resolve(folder, path)
  const found = await stat(place).catch(() => undefined)
  return found?.isFile() === true && liesIn(place, folder)
}

/** By its name and, if it is there, by where its name leads. */
async function liesIn(place: string, folder: string): Promise<boolean> {
  const led = await realpath(place).catch(() => undefined)
  return isInside(place, folder) && (led === undefined || isInside(led, await realpath(folder)))
}

function isInside(place: string, folder: string): boolean {
  const way = relative(folder, place)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`)
}

function outside(path: string): Misuse {
  return new Misuse(`${path} is not in this folder`, 'hand it over by its path: heddle ask --file PATH "…"', 'outside')
}
