import { realpath, stat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { Part } from '../../domain/message.ts'
import { type FileRoots, fileFrom } from './attachments.ts'

/** `@path`, or `@"path with spaces"`, at the start of a word. The `@` of a mail address is inside a word. */
const mention = /(?<=^|[\s("'[])@(?:"([^"\n]+)"|([^\s"]+))/g
const punctuation = /[.,;:!?)\]}'’”]+$/
/** Known file extensions. A list, since decorators (`@app.get`) and hosts (`@mail.com`) contain dots too. */
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
 * The files that a message mentions. `@./x` is always a file, and so is anything with a slash or a file extension: a missing
 * one is an error. `@x` is a file if the folder has it, else plain text. At the very beginning an agent of that name wins.
 */
export async function mentionedFiles(
  text: string,
  { from: folder, secrets }: FileRoots,
  isAgent: (name: string) => Promise<boolean>,
): Promise<Part[]> {
  const parts = new Map<string, Part>()
  const isCode = codeIn(text)
  for (const { 0: whole, 1: quoted, 2: word = '', index } of text.matchAll(mention)) {
    const path = quoted ?? (await withoutPunctuation(word, folder))
    const isRequired =
      path.startsWith('./') || (looksLikePath(path) && !isCode(index) && !(await isFolder(path, folder)))
    if (!isRequired && !(await isFileIn(path, folder))) continue
    const isFirst = text.slice(0, index).trim() === ''
    if (isFirst && !path.startsWith('./') && (await isAgent(whole.slice(1)))) continue
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

/** Returns whether an index is in a code block, where `@` has other meanings. */
function codeIn(text: string): (index: number) => boolean {
  const blocks = Array.from(text.matchAll(fenced), ({ 0: block, index }) => [index, index + block.length] as const)
  return (index) => blocks.some(([from, to]) => index >= from && index < to)
}

/** Adds how to write an `@` that is not a file, such as a package or a person. */
function withWayOut(error: unknown, path: string): never {
  if (!(error instanceof HeddleError && error.code === 'no_file') || path.startsWith('./')) throw error
  const remedy = `${error.remedy}; if it is not a file, write \`@${path}\` in backquotes`
  throw new HeddleError(error.code, error.message, remedy, { cause: error })
}

/** Strips punctuation at the end of a sentence, unless a file has that name. */
async function withoutPunctuation(word: string, folder: string): Promise<string> {
  const bare = word.replace(punctuation, '')
  return bare !== word && !(await isFileIn(word, folder)) ? bare : word
}

/** Whether the folder contains a file of this name. */
async function isFileIn(path: string, folder: string): Promise<boolean> {
  const place = resolve(folder, path)
  const found = await stat(place).catch(() => undefined)
  return found?.isFile() === true && liesIn(place, folder)
}

/** Folders are not attached: agents search them themselves. */
async function isFolder(path: string, folder: string): Promise<boolean> {
  const place = resolve(folder, path)
  const found = await stat(place).catch(() => undefined)
  return found?.isDirectory() === true
}

/** Whether both the path and the target of its symlinks are in the folder. */
async function liesIn(place: string, folder: string): Promise<boolean> {
  const target = await realpath(place).catch(() => undefined)
  return isInside(place, folder) && (target === undefined || isInside(target, await realpath(folder)))
}

function isInside(place: string, folder: string): boolean {
  const way = relative(folder, place)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`)
}

function outside(path: string): UsageError {
  return new UsageError(`${path} is not in this folder`, 'attach it by its path: heddle ask --file PATH "…"', 'outside')
}
