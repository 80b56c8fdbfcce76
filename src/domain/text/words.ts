/** Longer runs of letters are cut: people do not search for them. */
const maxWordLength = 40
/** Max words of one text; the rest is not indexed. */
const maxWords = 2000

/** English and German filler words, which say nothing about a topic. */
const fillers = new Set(
  (
    'the a an is are was were be to of in on at by for with and or it its we our you your i me my they this that now do ' +
    'does did has have had will would should must can what which who when where why how about there please tell know ' +
    'der die das ein eine ist sind und oder von zu mit wir was wie wo'
  ).split(' '),
)

/** A word of a text, in the spellings that people use for it: a text with one of them has the word. */
export interface Term {
  forms: readonly [string, ...string[]]
  /** Written in hiragana: mostly grammar, and no sign of a topic by itself. */
  isHiragana: boolean
}

/**
 * Words of a text in one spelling each, normalised: case, accents, width, kana, plural `s`, `camelCase` (its parts, then
 * the whole) and `kebab-case`. Scripts without spaces are split into pairs of characters. Accepts any text.
 */
export function wordsIn(text: string): string[] {
  return termsIn(text)
    .slice(0, maxWords)
    .map(({ forms: [first] }) => first)
}

/**
 * A text as its words in order, for phrases to be found in: with `camelCase` split, with such words whole, and with umlauts
 * as two letters.
 */
export function wordOrders(text: string): string[] {
  const plain = text.toWellFormed()
  const split = termsIn(plain.replace(innerCapital, ' '))
  const whole = termsIn(plain.toLowerCase())
  const orders = [split.map(({ forms }) => forms[0]), ...[0, -1].map((at) => whole.map(({ forms }) => forms.at(at)))]
  return orders.map((words) => ` ${words.join(' ')} `)
}

/** All spellings of the words of a text. */
export function spellingsIn(text: string): string[] {
  return termsIn(text)
    .slice(0, maxWords)
    .flatMap(({ forms }) => forms)
}

/** Words of a text with their spellings, in order. */
export function termsIn(text: string): Term[] {
  const terms: Term[] = []
  for (const { run, isPaired } of scriptRunsIn(text.toWellFormed().normalize('NFKC')))
    for (const term of isPaired ? pairsOf(run) : inCapitals(run)) terms.push(term)
  return terms
}

/** Stretches of letters and digits of one script, each with its place; `isPaired` for scripts without spaces. */
export function* scriptRunsIn(text: string): Iterable<{ run: string; index: number; isPaired: boolean }> {
  for (const { 0: token, index } of text.matchAll(isAscii(text) ? asciiTokens : tokens))
    if (isAscii(token)) yield { run: token, index, isPaired: false }
    else
      for (const { 0: run, index: offset } of token.matchAll(oneScript))
        yield { run, index: index + offset, isPaired: withoutSpaces.test(run) }
}

const tokens = /[\p{L}\p{N}\p{M}]+|\p{Extended_Pictographic}/gu
const asciiTokens = /[0-9A-Za-z]+/g

/** Most texts, and nearly all words of the others: they need no Unicode properties, which are several times slower. */
function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Hangul}ー'
const withoutSpaces = new RegExp(`^[${unspaced}]`, 'u')
/** The long vowel mark belongs to both kinds of kana. */
const oneScript = new RegExp(
  `\\p{Script=Han}+|[\\p{Script=Hiragana}ー]+|[\\p{Script=Katakana}ー]+|\\p{Script=Thai}+|\\p{Script=Hangul}+|[^${unspaced}]+`,
  'gu',
)

/** Words of a text without fillers. */
export function contentWords(text: string): Set<string> {
  return new Set(wordsIn(text).filter((word) => !fillers.has(word)))
}

/** Characters that are split into words at once: of more, words after the first 2,000 would be left out. */
const pieceLength = 2000
/** Max pieces of a text that are indexed for a search. */
const maxPieces = 200

/** Words that a long text is found by, without fillers. */
export function indexWords(texts: readonly string[]): Set<string> {
  const words = new Set<string>()
  for (const text of texts)
    for (const piece of piecesOf(text))
      for (const spelling of spellingsIn(piece)) if (!fillers.has(spelling)) words.add(spelling)
  return words
}

/** Pieces of a text, cut between words where it has spaces. */
function* piecesOf(text: string): Iterable<string> {
  let from = 0
  for (let count = 0; count < maxPieces && from < text.length; count++) {
    const end = from + pieceLength
    const space = end >= text.length ? -1 : text.slice(from, end).search(/\s\S*$/u)
    const to = end >= text.length ? text.length : space > 0 ? from + space : end
    yield text.slice(from, to)
    from = to
  }
}

/** Words of a text, each once. */
export function uniqueTerms(text: string): Term[] {
  return onceEach(termsIn(text))
}

/** Words to search for: fillers such as "what" count only if there is no other word. */
export function searchTerms(query: string): Term[] {
  const terms = uniqueTerms(query)
  const about = terms.filter(({ forms }) => !forms.some((form) => fillers.has(form)))
  return about.length > 0 ? about : terms
}

/** Number of occurrences of each spelling. */
export function wordCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const piece of piecesOf(text))
    for (const spelling of spellingsIn(piece)) counts.set(spelling, (counts.get(spelling) ?? 0) + 1)
  return counts
}

/** Jaccard similarity of the words of two texts, 0 to 1: words that share a spelling are the same. */
export function termSimilarity(a: readonly Term[], b: readonly Term[]): number {
  const [ofA, ofB] = [onceEach(a), onceEach(b)]
  if (ofA.length === 0 || ofB.length === 0) return 0
  const sharedIn = (terms: readonly Term[], others: readonly Term[]) => {
    const spellings = new Set(others.flatMap(({ forms }) => forms))
    return terms.filter(({ forms }) => forms.some((form) => spellings.has(form))).length
  }
  const shared = Math.min(sharedIn(ofA, ofB), sharedIn(ofB, ofA))
  return shared / (ofA.length + ofB.length - shared)
}

/** Words that say something about a topic. */
export function withoutFillers(terms: readonly Term[]): Term[] {
  return terms.filter(({ forms }) => !fillers.has(forms[0]))
}

function onceEach(terms: readonly Term[]): Term[] {
  return [...new Map(terms.map((term) => [term.forms[0], term])).values()]
}

/** Pairs of characters; a single one stands for itself. Katakana is read as hiragana, without a long vowel at its end. */
function pairsOf(run: string): Term[] {
  const isHiragana = /^[\p{Script=Hiragana}ー]+$/u.test(run)
  const characters = [...foldKana(run.replace(/\p{M}+/gu, '').replace(/(?<=..)ー$/u, ''))]
  const pairs = characters.slice(1).map((character, at) => `${characters[at]}${character}`)
  return (characters.length === 1 ? characters : pairs).map((pair): Term => ({ forms: [pair], isHiragana }))
}

function foldKana(text: string): string {
  return text.replace(/[ァ-ヶ]/g, (kana) => String.fromCodePoint((kana.codePointAt(0) ?? 0) - 0x60))
}

/** Before the capital that a word begins with: `read|File`, `PDF|Export`, but not `PDFs` or `MHz`. */
const innerCapital = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/gu

/** A word with inner capitals is its parts and the whole: `readFile` meets "read file" and "readfile". */
function inCapitals(token: string): Term[] {
  const parts = /[^\0-\x7f]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}/.test(token) ? token.split(innerCapital) : [token]
  const split = parts.length === 1 ? [] : parts.filter((part) => part.length > 1)
  return [...split, token].map((part): Term => ({ forms: spellingsOf(part.toLowerCase()), isHiragana: false }))
}

/** Letters that are no other letter with an accent, and what stands for umlauts where a keyboard has none. */
const plainLetters = new Map(
  Object.entries({ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ı: 'i', ł: 'l', đ: 'd', þ: 'th', ð: 'd' }),
)
const twoLetters = new Map(Object.entries({ ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' }))

/** Without accents, as in "Muller"; with umlauts also as two letters, as in "Mueller". */
function spellingsOf(word: string): [string, ...string[]] {
  if (isAscii(word)) return [withoutPlural(word.slice(0, maxWordLength))]
  const plain = fold(word)
  const long = fold(word.replace(/[äöüøå]/g, (letter) => twoLetters.get(letter) ?? letter))
  return long === plain ? [plain] : [plain, long]
}

function fold(word: string): string {
  const letters = word.replace(/[ßæœøıłđþð]/g, (letter) => plainLetters.get(letter) ?? letter)
  // The cut may split a surrogate pair.
  const short = letters
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .slice(0, maxWordLength)
    .toWellFormed()
  return withoutPlural(short)
}

function withoutPlural(word: string): string {
  return /^[a-z]{3,}[^s]s$/.test(word) ? word.slice(0, -1) : word
}
