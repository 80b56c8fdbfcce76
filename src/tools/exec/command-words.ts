import { type Glob, matchesGlob, readGlob } from '../files/glob.ts'

const maxWordLength = 4096

/**
 * Every word of a command that could be a file name. Only a shell can parse a command exactly, so quotes are read both as
 * word boundaries and as parts of words, and expansions count as `*`, with the words inside them as further words.
 */
export function wordsOf(command: string): string[] {
  const filled = command.replace(/\$\{[^}]*\}|\$\([^()]*\)|\$\w+|\{[^{}\s]*,[^{}\s]*\}/g, '*')
  const quoted = [...filled.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, single, double]) => single ?? double ?? '')
  const unquoted = filled.replace(/['"\\]/g, '')
  const inside = command.replace(/['"\\]/g, '').split(/[\s`;|&()<>=,{}$]+|:[-+?]/)
  const words = [...quoted, ...split(filled.replace(/\\/g, '')), ...split(unquoted), ...inside]
  // Options with an attached value: -fbuild.mk
  const attached = words.flatMap((word) => /^-\w(.+)$/.exec(word)?.[1] ?? [])
  const all = [...words, ...attached].map((word) => word.trim())
  return [...new Set(all)].filter(
    (word) => word !== '' && word.length <= maxWordLength && !word.startsWith('-') && !/^[*.]+$/.test(word),
  )
}

// Expansions, process substitutions, and `[` except as the name of a test.
const expansion = /[$`*?{~]|\[[^\s[]|<\(/
const fileFinder = /(^|[\s;|&(/])(eval|xargs|find|fd|fdfind|parallel)(?=$|[\s;|&)])/
const interpreters = '(?:ba|da|z|k|a|mk|fi|c|tc)?sh|busybox|source|python[\\d.]*|perl|ruby|node|php|make'
const scriptFromPipe = new RegExp(`(?<!\\|)\\|(?!\\|)&?(?:[^|;&]*[\\s/])?(?:${interpreters})(?=$|[\\s;|&)<])`)

/** Whether a command could run files whose names are not in its text: by an expansion, a search or a pipe into a shell. */
export function namesAnyFile(command: string): boolean {
  const text = command.replace(/['"\\]/g, '')
  return expansion.test(text) || fileFinder.test(text) || scriptFromPipe.test(text)
}

function split(text: string): string[] {
  return text.split(/[\s'"`;|&()<>=,]+/)
}

/** Makes words below one of the folders relative to it, as `./a`: they name the same file. */
export function wordsBelow(folders: readonly string[], words: readonly string[]): string[] {
  return words.map((word) => {
    const folder = folders.find((each) => word.startsWith(each.endsWith('/') ? each : `${each}/`))
    return folder === undefined ? word : `./${word.slice(folder.length).replace(/^\/+/, '')}`
  })
}

/** Normalised path components of a word. */
export function namesIn(word: string): string[] {
  const names: string[] = []
  for (const name of word.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return names
}

export function isPattern(name: string): boolean {
  return /[*?[]/.test(name)
}

/**
 * Tests whether a word could name a file in any directory: `run.sh` is `sub/run.sh` after a `cd sub`. One question too
 * many is better than one too few.
 */
export function fileNameMatcher(words: readonly string[]): (path: string) => boolean {
  const exact = new Set<string>()
  const globs: (Glob | undefined)[] = []
  for (const word of words) {
    const names = namesIn(word)
    if (names.length === 0) continue
    if (!names.some(isPattern)) exact.add(names.join('/'))
    else globs.push(readGlob(`**/${names.join('/')}`))
  }
  return (path) => {
    const names = path.split('/')
    return (
      names.some((_, at) => exact.has(names.slice(at).join('/'))) ||
      globs.some((glob) => glob && matchesGlob(glob, names))
    )
  }
}
