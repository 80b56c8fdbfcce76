import { stopWords } from './stop-words.ts'
import { type Term, termsIn, withoutFillers } from './words.ts'

const retoldFrom = 0.8
/** Letters that two inflections of a word have in common at least. */
const commonFrom = 4

/**
 * Whether one or two sentences of a text may say the same as a statement. A statement with one telling word is said by a
 * sentence with it that speaks of the same person, unless `ofAnyone`: for texts that are named only.
 */
export function mayTell(statement: string, { ofAnyone = false } = {}): (text: string) => boolean {
  const find = findingIn(statement)
  const isOwn = ownPerson.test(statement)
  return (text) => {
    // Most texts say nothing like it: that is found out sooner.
    if (find(text) === 'no') return false
    const sentences = text.split(endOfSentences)
    return sentences.some((sentence, at) => {
      const [before = '', next = ''] = [sentences[at - 1], sentences[at + 1]]
      if (find(`${sentence} ${next}`) === 'all') return true
      const found = find(sentence)
      if (found === 'no') return false
      const isOwnToo = ownPerson.test(sentence) || (pronoun.test(sentence) && ownPerson.test(before))
      if (isOwn && isOwnToo) return true
      return found === 'word' && (ofAnyone || hasInOrder(termsIn(sentence), termsIn(statement)))
    })
  }
}

/** Whether a longer text may say the same as a statement, of whomever: it has nearly all of its words, or one of its values. */
export function mayContain(text: string, statement: string): boolean {
  return ['all', 'word'].includes(findingIn(statement)(text))
}

/** A dot after a short word is that of an abbreviation: Dr., e.g., Mrs. */
const endOfSentences = /(?<=[!?;]|(?<!(?<!\p{L})\p{L}{1,3})\.)\s+|(?<=[。！？])|\n+/u

/** The user, in what people save ("I", "my") and in what agents write of them ("the user"). */
const ownPerson =
  /(?<![\p{L}\p{N}])(?:i(?!\.)|me|my|mine|we|us|ours?|users?|ich|mich|mir|mein\p{L}{0,2}|wir|uns|unser\p{L}{0,2}|(?:(?:be)?nutzer|anwender)\p{L}*)(?![\p{L}\p{N}])|私|僕|俺|ユーザ|利用者|我|用户/iu
const ownPersons = new RegExp(ownPerson, 'giu')
/** What changes most when another one tells it: ich nehme, er nimmt. */
const ownVerb = /(?<!\p{L})(?:\p{L}+\s+(?:ich|wir)|(?:i|we|ich|wir)\s+\p{L}+)(?!\p{L})/giu
/** Who was spoken of before. */
const pronoun = /(?<!\p{L})(?:s?he|they|his|her|their|er|sie|(?:ihr|sein)(?:e[mnrs]?)?)(?!\p{L})|彼/iu

/**
 * How much of a statement a text has: nearly all words or a value; its only telling word, or without such a word all in their
 * order; all but the verb of `I`; or none of these.
 */
function findingIn(statement: string): (text: string) => 'all' | 'word' | 'object' | 'no' {
  const terms = termsIn(statement)
  const about = withoutFillers(terms)
  const telling = tellingWords(statement)
  const object = tellingWords(statement.replace(ownVerb, ' '))
  const values = [...valuesIn(statement)]
  return (text) => {
    const told = values.length > 0 ? valuesIn(text) : new Set()
    if (values.some((value) => told.has(value))) return 'all'
    const words = termsIn(text)
    const isOneOf = amongWords(words)
    const hasMost = (some: readonly Term[]) => some.filter(isOneOf).length >= retoldFrom * some.length
    if ([about, telling].some((some) => some.length > 1 && hasMost(some))) return 'all'
    const hasWord = telling.length === 1 ? hasMost(telling) : telling.length === 0 && hasInOrder(words, terms)
    if (hasWord) return 'word'
    return object.length > 0 && hasMost(object) ? 'object' : 'no'
  }
}

/** Words that are no grammar and do not say who is meant. */
function tellingWords(statement: string): Term[] {
  return withoutFillers(termsIn(statement.replace(ownPersons, ' '))).filter(
    ({ forms, isHiragana }) => !isHiragana && !forms.some((form) => stopWords.has(form)),
  )
}

/** Finds a term, or another inflection of it, among the words of a text. */
function amongWords(words: readonly Term[]): (term: Term) => boolean {
  const spellings = new Set(words.flatMap(({ forms }) => forms))
  const byStart = Map.groupBy(spellings, (spelling) => spelling.slice(0, commonFrom))
  return ({ forms }) =>
    forms.some(
      (form) =>
        spellings.has(form) || byStart.get(form.slice(0, commonFrom))?.some((other) => isInflected(form, other)),
    )
}

function hasInOrder(words: readonly Term[], terms: readonly Term[]): boolean {
  let found = 0
  for (const word of words) {
    const next = terms[found]
    if (next && isSameWord(next, word)) found++
  }
  return found === terms.length
}

function isSameWord(a: Term, b: Term): boolean {
  return a.forms.some((ofA) => b.forms.some((ofB) => ofA === ofB || isInflected(ofA, ofB)))
}

/** Words of letters that have more in common at their beginning than differs after it: looking, looks; wohne, wohnt. */
function isInflected(a: string, b: string): boolean {
  if (a.slice(0, commonFrom) !== b.slice(0, commonFrom) || /\P{L}/u.test(a) || /\P{L}/u.test(b)) return false
  let common = 0
  while (common < a.length && a[common] === b[common]) common++
  return common >= commonFrom && a.length + b.length - 2 * common < common
}

/** Years and dates, and what separates the groups of a number. */
const date = /(?<![\p{L}\p{N}])(?:19|20)\d\d(?:-\d\d-\d\d)?(?![\p{L}\p{N}])|\d\d?[./]\d\d?[./](?:19|20)\d\d(?!\d)/gu
const separator = /(?<=\d)[ .,/\u00a0-](?=\d)/g

/**
 * Values that two texts have only if they tell the same fact: addresses of mail, and numbers or codes of at least four digits, whole
 * and by their groups. Dates and round numbers are in texts of any topic.
 */
function valuesIn(text: string): Set<string> {
  const plain = text.normalize('NFKC').toLowerCase()
  const numbers = plain.replace(date, ' ')
  const codes = `${numbers} ${numbers.replace(separator, '')}`.match(/[0-9a-z]+/g) ?? []
  const mails = plain.match(/[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,}/gu) ?? []
  return new Set([...codes.filter((each) => (each.match(/\d/g) ?? []).length >= 4 && !/0{3}$/.test(each)), ...mails])
}
