import { matchesGlob, readGlob } from '../files/glob.ts'
import { fileNameMatcher, isPattern, namesIn, wordsBelow } from './command-words.ts'
import { filters, type ShellProgram, shellSteps, unknownPart } from './shell-steps.ts'

/** Longer commands are not read. */
const maxLength = 50_000
/** Max names that one file is followed through. */
const maxCopies = 16

// The last word, or that behind `-t`, says where the files go.
const copiers = new Set(['cp', 'mv', 'rsync', 'ln', 'ditto', 'scp', 'install', 'git mv'])
// They write what they read to the same name, and may keep the old file under another one.
const rewriters = /^(?:sed|perl|ruby|g?awk) (?:.* )?-\w*i/
// They name both in other ways.
const packers = new Set(['tar', 'cpio', 'dd', 'tee', 'split', 'git archive', 'git checkout-index'])
const readingCode =
  /(?:\b(?:(?:read|load)\w*|open)\(|\bPath\((?=[^()]*\)\.read))\s*(["'])(.*?)\1(?!\s*,\s*["'](?:[wax]|r\+))/gi
const writingCode =
  /(?:\b(?:write|append)\w*\(|\bopen\((?=[^()]*,\s*["'](?:[wax]|r\+))|\bPath\((?=[^()]*\)\.write))\s*(["'])(.*?)\1/gi
const copyingCode = /\b(?:copy|cp|rename|move)\w*\(([^()]*)\)/gi

/**
 * Whether a command copies or moves the source to the target, as far as one of its steps tells: not if it only looks at it, nor if only
 * a shell knows which file it is. Both paths are relative to its folder; an undefined source is any file.
 */
export type Transfers = (source: string | undefined, target: string) => boolean

export function transfersIn(command: string, folder: string): Transfers {
  if (command.length > maxLength) return () => false
  const steps = shellSteps(command)
  // Elsewhere a name may be that of a file below.
  const isBelow = steps.flat().some(({ name, words }) => /^(?:cd|pushd|find)$/.test(name) || hasOption(words, '-C'))
  const names: NameTest = (words, path) => namesFile(words, folder, path, isBelow)
  return (source, target) => {
    let copies: (string | undefined)[] = [source]
    let isMade = false
    for (const step of steps) {
      const isOverwritten = (path: string) =>
        step.some(({ overwrites }) => overwrites.some((words) => names(words, path)))
      if (copies.some((from) => isTransfer(step, from, target, names))) isMade = true
      else if (isOverwritten(target)) isMade = false
      const left = copies.filter((path) => path === undefined || !isOverwritten(path))
      const known = copies.filter((path) => path !== undefined)
      copies = copies.length < maxCopies ? [...left, ...copiesMade(step, known, names)] : left
    }
    return isMade
  }
}

/** The text of a command that begins in another folder than that of its session. */
export function commandIn(folder: string, command: string): string {
  return /^\.?$/.test(folder) ? command : `cd '${folder.replaceAll("'", "'\\''")}'; ${command}`
}

type FileTest = (words: readonly string[]) => boolean
/** Whether one of the values of a word is a path. */
type NameTest = (words: readonly string[], path: string) => boolean

function isSource(words: readonly string[], source: string, names: NameTest): boolean {
  return withFolders(source).some((path) => names(words.filter(isKnownStart), path))
}

function isTransfer(
  step: readonly ShellProgram[],
  source: string | undefined,
  target: string,
  names: NameTest,
): boolean {
  const isFrom = (words: readonly string[]) => source === undefined || isSource(words, source, names)
  const isSameName = source === undefined || baseName(source) === baseName(target)
  const folders = withFolders(target).slice(0, -1)
  const isTo = (words: readonly string[]) =>
    names(words, target) || (isSameName && (words.some(isFolderHere) || folders.some((path) => names(words, path))))
  const isBetween = (words: readonly string[][]) =>
    words.some((to) => isTo(to) && words.some((from) => from !== to && isFrom(from)))
  const read = step.flatMap(({ words }) => words)
  const files = read.filter(([word = '']) => !/\s/.test(word))
  return step.some(({ name, words, outputs }) => {
    if (source === target && rewriters.test([name, ...words.flat()].join(' '))) return words.some(isFrom)
    if (copiers.has(name)) return isTo(destination(words)) && sourcesIn(words).some(isFrom)
    if (packers.has(name) && isBetween([...read, ...outputs].map(withoutKeys))) return true
    if (words.flat().some((text) => isCodeBetween(text, isFrom, isTo))) return true
    return (
      filters.has(name) && outputs.some((to) => names(to, target)) && files.some((from) => isFrom(withoutKeys(from)))
    )
  })
}

/** Names that a step gives to files with one of these names, or to what its filters take from them. */
function copiesMade(step: readonly ShellProgram[], copies: readonly string[], names: NameTest): string[] {
  const read = step.flatMap(({ words }) => words).filter(([word = '']) => !/\s/.test(word))
  const isRead = copies.some((copy) => read.some((each) => isSource(each, copy, names)))
  const written = step.flatMap(({ name, outputs }) => (isRead && filters.has(name) ? outputs.flat() : []))
  const filtered = written.filter((word) => !word.includes(unknownPart)).map((word) => namesIn(word).join('/'))
  const copied = step
    .filter(({ name }) => copiers.has(name))
    .flatMap(({ words }) => {
      const to = destination(words).filter((word) => !word.includes(unknownPart))
      const from = copies.filter((copy) => sourcesIn(words).some((each) => isSource(each, copy, names)))
      return to.flatMap((word) => {
        const path = namesIn(word).join('/')
        return path === '' ? from.map(baseName) : from.flatMap((copy) => [path, `${path}/${baseName(copy)}`])
      })
    })
  return [...filtered, ...copied]
}

function sourcesIn(words: readonly string[][]): string[][] {
  const to = destination(words)
  return words.filter((each) => each !== to)
}

/** `.`, or a folder above it. */
function isFolderHere(word: string): boolean {
  return /^\.{1,2}(?:\/\.\.)*\/?$/.test(word)
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

const restorers = new Set(
  'hg svn jj patch tar unzip gunzip cpio'
    .split(' ')
    .concat(
      'checkout restore stash reset revert pull merge rebase switch cherry-pick apply am'
        .split(' ')
        .map((each) => `git ${each}`),
    ),
)

/** Whether a command may bring back what a file had before: by a program for that, or by a copy that is put in its place. */
export function mayRestore(command: string, { folder, path }: { folder: string; path: string }): boolean {
  if (command.length > maxLength) return true
  return shellSteps(command)
    .flat()
    .some((program) => {
      if (restorers.has(program.name) && !makesBranch(program)) return true
      const to = copiers.has(program.name) ? destination(program.words) : []
      return (
        to.some((word) => !isKnownStart(word) || /^\.{1,2}(?:\/|$)/.test(word)) ||
        withFolders(path).some((each) => namesFile(to, folder, each, true))
      )
    })
}

function makesBranch({ name, words: [[first = ''] = []] }: ShellProgram): boolean {
  return (name === 'git checkout' && first === '-b') || (name === 'git switch' && first === '-c')
}

function hasOption(words: readonly string[][], option: string): boolean {
  return words.some(([word]) => word === option)
}

/** Where a copier puts files. */
function destination(words: readonly string[][]): string[] {
  const at = words.findIndex(([word = '']) => /^(?:-t|--target-directory)$/.test(word))
  const attached = words.flatMap(([word = '']) => /^--target-directory=(.+)$/.exec(word)?.[1] ?? [])
  if (attached.length > 0) return attached
  return (at >= 0 ? words[at + 1] : words.at(-1)) ?? []
}

/** `if=a` and `HEAD:a` are `a`. */
function withoutKeys(words: readonly string[]): string[] {
  return words.map((word) => word.replace(/^(?:[\w-]+=|[^\s:/]+:)/, ''))
}

/** Whether a program's text calls a function with the names of both files, or one to read the source and another to write the target. */
function isCodeBetween(text: string, isFrom: FileTest, isTo: FileTest): boolean {
  const namesIn = (code: string) => [...code.matchAll(/(["'])(.*?)\1/g)].map(([, , word = '']) => [word])
  const isCopy = [...text.matchAll(copyingCode)].some(([, args = '']) => {
    const words = namesIn(args)
    return words.some((to) => isTo(to) && words.some((from) => from !== to && isFrom(from)))
  })
  const calls = (code: RegExp) => [...text.matchAll(code)].map(([, , word = '']) => [word])
  return isCopy || (calls(readingCode).some(isFrom) && calls(writingCode).some(isTo))
}

function withFolders(path: string): string[] {
  const names = path.split('/')
  return names.map((_, at) => names.slice(0, at + 1).join('/'))
}

/** What begins with an expansion may be anywhere. */
function isKnownStart(word: string): boolean {
  return !word.startsWith(unknownPart)
}

/** Whether one of these words is a path; `isBelow` if it may begin further down. */
function namesFile(words: readonly string[], folder: string, path: string, isBelow: boolean): boolean {
  const known = words.filter((word) => /[\p{L}\p{N}*]/u.test(word)).map((word) => word.replaceAll(unknownPart, '*'))
  const below = wordsBelow([folder], known).map((word) => namesIn(word.replace(/^(?:\.{1,2}\/)+/, '')))
  if (below.some((names) => names.join('/') === path)) return true
  if (isBelow) return fileNameMatcher(below.map((names) => names.join('/')))(path)
  return below.some((names) => names.some(isPattern) && fileMatches(path, names))
}

function fileMatches(path: string, names: readonly string[]): boolean {
  const glob = readGlob(names.join('/'))
  return glob !== undefined && matchesGlob(glob, path.split('/'))
}
