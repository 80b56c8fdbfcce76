import { basename } from 'node:path'
import type { GitSetting } from './git-config.ts'

// Settings that git reads as data. All others may name a program, also those of later versions and of other tools.
const dataSections = /^(user|author|committer|branch|safe|color|gui|i18n|http|format|gitflow|maintenance|mailmap|url)\./
const dataKeys =
  /\.(excludesfile|attributesfile|template|ignorerevsfile|allowedsignersfile|revocationfile|defaultbranch|worktree|storage|fetch|push|merge|active|orderfile|skiplist)$/

const interpreters =
  /^(sh|bash|dash|zsh|ksh|fish|node|deno|bun|tsx|ts-node|python[\d.]*|perl|ruby|php|lua|awk|env|exec|nohup|command|source|sudo|nice|time|\.)$/

export function isData({ name, value }: GitSetting): boolean {
  // `ext::` runs a program.
  if (/\.(push)?url$/.test(name)) return !value.includes('::')
  return dataSections.test(name) || dataKeys.test(name)
}

/** Words of a value that a shell would take for separate ones. */
export function shellWords(value: string): string[] {
  return value.split(/[\s'"`;|&()<>=!]+/).filter((word) => word !== '')
}

/**
 * Words of a setting by which a shell would find a program or a script in a work tree: paths, names with an extension, and
 * what follows an interpreter. A plain name is looked up in PATH.
 */
export function programWords(value: string, tree: string, home: string): string[] {
  const words = shellWords(expand(value, '.', home))
  const found = words.filter((word, at) => isPathLike(word) || followsInterpreter(words, at))
  const quoted = [...value.matchAll(/(["'])(.*?)\1/g)].map(([, , text = '']) => text)
  // Some programs are started without a shell, and paths may contain spaces.
  const whole = [value, ...quoted].map((text) => expand(text, tree, home)).filter((text) => /\s/.test(text))
  return [...new Set([...found, ...whole.filter(isPathLike)].map((word) => word.replace(/^\w+::/, '')))]
}

/** Replaces what stands for the work tree, in which git starts programs, and for the home. */
function expand(text: string, tree: string, home: string): string {
  return text
    .replace(/^!/, '')
    .replace(/\$\(\s*(?:git rev-parse --show-toplevel|pwd)\s*\)|`(?:git rev-parse --show-toplevel|pwd)`/g, tree)
    .replace(/\$(?:PWD\b|\{PWD\})/g, tree)
    .replace(/\$(?:HOME\b|\{HOME\})/g, home)
}

function isPathLike(word: string): boolean {
  return word.includes('/') || /[^.]\.\w/.test(word)
}

function followsInterpreter(words: readonly string[], at: number): boolean {
  if (words[at]?.startsWith('-')) return false
  let before = at - 1
  while (words[before]?.startsWith('-')) before--
  return interpreters.test(basename(words[before] ?? ''))
}
