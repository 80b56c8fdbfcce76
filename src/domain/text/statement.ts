import { type Term, termSimilarity, termsIn, withoutFillers } from './words.ts'

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
  return alikeTo(a)(b)
}

/** The same, to compare one statement with many. */
export function alikeTo(statement: string): (other: string) => boolean {
  const own = termsIn(statement)
  const [about, shape, key] = [withoutFillers(own), withoutNumbers(own), keyOf(statement)]
  const hasLetters = shape.some(({ forms }) => /\p{L}/u.test(forms[0]))
  return (other) => {
    const words = termsIn(other)
    if (termSimilarity(own, words) >= alikeFrom) return true
    const telling = withoutFillers(words)
    if (termSimilarity(about, telling) >= alikeFrom || (about.length === 0 && telling.length === 0)) return true
    if (hasLetters && isSameSequence(shape, withoutNumbers(words))) return true
    return key.length > 0 && isSameSequence(key, keyOf(other))
  }
}

/** The words in which two statements of one shape differ, place by place; none if they have more or fewer words, or all differ. */
export function differingWords(a: string, b: string): [ofA: Term, ofB: Term][] {
  const [ofA, ofB] = [termsIn(a), termsIn(b)]
  if (ofA.length !== ofB.length) return []
  const differing = ofA.flatMap((term, at): [Term, Term][] => {
    const other = ofB[at]
    return other && !term.forms.some((form) => other.forms.includes(form)) ? [[term, other]] : []
  })
  return differing.length < ofA.length ? differing : []
}

/** Normal form that all spellings of a statement share. */
export function foldStatement(text: string): string {
  const tokens = spacedWords(text.trim().replace(endOfSentence, ''))
  return tokens.map((token, at) => (isNamed(tokens, at) ? token : foldCase(token, tokens[at - 1]))).join(' ')
}

/** A text with one kind of quotes and spaces, and without capitals that say nothing: a part of it is folded as the whole. */
export function foldProse(text: string): string {
  return spacedWords(text)
    .map((token, at, tokens) => foldCase(token, tokens[at - 1]))
    .join(' ')
}

function spacedWords(text: string): string[] {
  const plain = text.toWellFormed().normalize('NFC').replace(/[‘’]/g, "'").replace(/[“”„]/g, '"')
  return plain.trim().split(/\s+/u)
}

/** Whether a word is told as it is written: in quotes, or as the one word at the end that a thing is or is called. */
function isNamed(tokens: readonly string[], at: number): boolean {
  return (
    /^["'«]/.test(tokens[at] ?? '') ||
    (at === tokens.length - 1 && /[:=]$|^(?:is|called|named|ist|heißt|lautet)$/i.test(tokens[at - 1] ?? ''))
  )
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

/** Short words in capitals, which mean something else in small letters: US, IT, WHO, and the keys R and r. */
const shortCapitals = /^\P{L}*\p{Lu}{1,3}\P{L}*$/u

function foldCase(token: string, before: string | undefined): string {
  const isUnit = before !== undefined && /\d$/.test(before) && unitByCase.test(token)
  // A single capital at the beginning is that of a sentence.
  const isShort = shortCapitals.test(token) && (before !== undefined || /\p{Lu}{2}/u.test(token))
  return proseWord.test(token) && !isUnit && !isShort ? token.toLowerCase() : token
}

/** Words with all numbers equal: `db1` and `db2` have the same shape. */
function withoutNumbers(terms: readonly Term[]): Pick<Term, 'forms'>[] {
  const plain = (form: string) => form.replace(/\p{N}+/gu, '0')
  return terms.map(({ forms: [first, ...more] }) => ({ forms: [plain(first), ...more.map(plain)] }))
}

/** The words before the first `:` or `=`; none if there is neither. */
function keyOf(text: string): Term[] {
  const [key = '', ...value] = text.split(/[:=]\s+/)
  return value.length === 0 ? [] : termsIn(key)
}

/** Whether two texts have the same words in the same order, each in one of its spellings. */
function isSameSequence(a: readonly Pick<Term, 'forms'>[], b: readonly Pick<Term, 'forms'>[]): boolean {
  return a.length === b.length && a.every(({ forms }, at) => forms.some((form) => b[at]?.forms.includes(form)))
}
