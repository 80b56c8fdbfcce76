import { contentWords, wordSimilarity, wordsIn } from './words.ts'

const alikeFrom = 0.5

/**
 * Whether two texts are the same statement: equal except for case, spaces and punctuation without meaning. Words
 * are compared in their order. In doubt two texts differ: a statement kept twice costs less than one thrown away.
 */
export function isSameStatement(a: string, b: string): boolean {
  return a === b || foldStatement(a) === foldStatement(b)
}

/**
 * Whether a reader should compare two statements: they share half of their words, differ only in numbers, or a
 * `key: value` has the same key. Words cannot tell an update from another fact, so nothing may be decided by this.
 */
export function looksAlike(a: string, b: string): boolean {
  if (wordSimilarity(new Set(wordsIn(a)), new Set(wordsIn(b))) >= alikeFrom) return true
  const [about, other] = [contentWords(a), contentWords(b)]
  if (wordSimilarity(about, other) >= alikeFrom || (about.size === 0 && other.size === 0)) return true
  const shape = shapeOf(a)
  if (/\p{L}/u.test(shape) && shape === shapeOf(b)) return true
  const key = keyOf(a)
  return key !== '' && key === keyOf(b)
}

/** Normal form that all spellings of a statement share. */
export function foldStatement(text: string): string {
  const plain = text.toWellFormed().normalize('NFC').replace(/[‘’]/g, "'").replace(/[“”„]/g, '"')
  const tokens = plain.trim().replace(endOfSentence, '').split(/\s+/u)
  return tokens.map((token, at) => foldCase(token, tokens[at - 1])).join(' ')
}

/**
 * A full stop or exclamation marks at the very end; not an ellipsis, nor a dot that is a word of its own or a path, nor a
 * factorial.
 */
const endOfSentence = /(?<=[^\s.!。！/\\])(?:\.|(?<!\d)!+|。|(?<!\d)！+)$/u

/** A word of letters with prose punctuation: everything else (paths, ids, options) keeps its case. */
const proseWord = /^["'([{«]*[\p{L}\p{M}]+(?:['-][\p{L}\p{M}]+)*["')\]}»,;:.!?…。！？、]*$/u

/** Units that differ by case: 5 mW and 5 MW, 8 Mb and 8 MB. */
const unitByCase = /^(?:[kmgtp]i?b(?:ps)?|[mp](?:w|wh|v|a|hz|pa|s|g|j|n|f|l))[,;:.]?$/i

function foldCase(token: string, before: string | undefined): string {
  const isUnit = before !== undefined && /\d$/.test(before) && unitByCase.test(token)
  return proseWord.test(token) && !isUnit ? token.toLowerCase() : token
}

/** The words of a text without its numbers: `db1` and `db2` have the same shape. */
function shapeOf(text: string): string {
  return wordsIn(text)
    .map((word) => word.replace(/\p{N}+/gu, '0'))
    .join(' ')
}

/** The text before the first `:` or `=`; empty if there is none. */
function keyOf(text: string): string {
  const [key = '', ...value] = text.split(/[:=]\s+/)
  return value.length === 0 ? '' : wordsIn(key).join(' ')
}
