import { realpath, stat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { HeddleError, Misuse } from '../domain/errors.ts'
import type { Part } from '../domain/message.ts'
import { fileFrom, type Ground } from './attachments.ts'

/** `@path`, or `@"path with blanks"`, where a word may begin; the `@` of an address of mail stands in a word. */
const mention = /(?<=^|[\s("'[])@(?:"([^"\n]+)"|([^\s"]+))/g
const afterWords = /[.,;:!?)\]}'’”]+$/
/** Endings by which people know files. A list, since decorators (`@app.get`) and hosts (`@mail.com`) have dots as well. */
const extension = new RegExp(
  `\\.(?:${[
    'txt|md|mdx|rst|adoc|tex|log|csv|tsv|json|jsonl|json5|ya?ml|toml|ini|cfg|conf|env|lock|xml|html?|css|scss|less|svg',
    '[cm]?[jt]s|[jt]sx|vue|svelte|py|pyi|ipynb|rb|php|pl|pm|lua|r|jl|go|rs|java|kts?|scala|swift|cs|fs|c|h|cc|cpp|hpp',
    'm|mm|zig|nim|ex|exs|erl|hs|ml|clj|dart|sol|sql|sh|bash|zsh|fish|ps1|bat|tf|proto|graphql|gradle|cmake|nix',
    'diff|patch|pdf|png|jpe?g|gif|webp|docx?|xlsx?|pptx?|zip|gz|tar',
  ].join('|')})$`,
  'i',
)
const fenced = /^```[\s\S]*?(?:^```|$(?![\s\S]))/gm

/**
 * The files that a message names. `@./x` is always one, and so is what looks like a path, with a slash or an ending of
 * files: one that is not there is an error. `@x` is one if the folder has it, and else a word like any other. At the very
 * beginning an agent of that name goes first.
 */
export async function filesNamedIn(
  text: string,
  { from: folder, secrets }: Ground,
  isAgent: (name: string) => Promise<boolean>,
): Promise<Part[]> {
  const parts = new Map<string, Part>()
  const isCode = codeIn(text)
  for (const { 0: whole, 1: quoted, 2: word = '', index } of text.matchAll(mention)) {
    const path = quoted ?? (await spelled(word, folder))
    const isMeant = path.startsWith('./') || (looksLikePath(path) && !isCode(index) && !(await isFolder(path, folder)))
    if (!isMeant && !(await isFileIn(path, folder))) continue
    if (index === 0 && !path.startsWith('./') && (await isAgent(whole.slice(1)))) continue
    const place = resolve(folder, path)
    if (parts.has(place)) continue
    if (!(await liesIn(place, folder))) throw outside(path)
    parts.set(place, await fileFrom(path, { from: folder, secrets }).catch((error) => withWayOut(error, path)))
  }
  return [...parts.values()]
}

function looksLikePath(path: string): boolean {
  return path.includes('/') || extension.test(path)
}

/** Whether a place in the text lies in a block of code, where `@` has other meanings. */
function codeIn(text: string): (index: number) => boolean {
  const blocks = Array.from(text.matchAll(fenced), ({ 0: block, index }) => [index, index + block.length] as const)
  return (index) => blocks.some(([from, to]) => index >= from && index < to)
}

/** An `@` can also begin the name of a package or of a person. */
function withWayOut(error: unknown, path: string): never {
  if (!(error instanceof HeddleError && error.code === 'no_file') || path.startsWith('./')) throw error
  const remedy = `${error.remedy}; if it is no file, write \`@${path}\` in backquotes`
  throw new HeddleError(error.code, error.message, remedy, { cause: error })
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

/** A folder is named for the agents, which look through it themselves. */
async function isFolder(path: string, folder: string): Promise<boolean> {
  const place = resolve(folder, path)
  const found = await stat(place).catch(() => undefined)
  return found?.isDirectory() === true
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
