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

const scriptsWithoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/u

/**
 * Words of a text, normalised: case, accents, plural `s`, `camelCase` and `kebab-case`. Scripts without spaces are split
 * into pairs of characters. Accepts any text.
 */
export function wordsIn(text: string): string[] {
  const plain = text
    .toWellFormed()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ')
    .toLowerCase()
  const words: string[] = []
  for (const [run] of plain.matchAll(/[\p{L}\p{N}]+|\p{Extended_Pictographic}/gu)) {
    if (words.length >= maxWords) break
    words.push(...(scriptsWithoutSpaces.test(run) ? pairsOf(run) : [folded(run)]))
  }
  return words
}

/** Words of a text without fillers. */
export function aboutWords(text: string): Set<string> {
  return new Set(wordsIn(text).filter((word) => !fillers.has(word)))
}

/** Characters that are split into words at once: of more, words after the first 2,000 would be left out. */
const pieceLength = 4000
/** Max pieces of a text that are indexed for a search. */
const maxPieces = 100

/** Words that a long text is found by, without fillers. */
export function indexWords(texts: readonly string[]): Set<string> {
  const words = new Set<string>()
  for (const text of texts) for (const piece of piecesOf(text)) for (const word of aboutWords(piece)) words.add(word)
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

/** Search words of a question: fillers such as "what" count only if there is no other word. */
export function searchWords(question: string): string[] {
  const about = [...aboutWords(question)]
  return about.length > 0 ? about : wordsIn(question)
}

/** Number of occurrences of each word. */
export function wordCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of wordsIn(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** Jaccard similarity of two sets of words, 0 to 1. */
export function wordSimilarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0
  let shared = 0
  for (const word of a) if (b.has(word)) shared++
  return shared / (a.size + b.size - shared)
}

function pairsOf(run: string): string[] {
  const characters = [...run]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}

function folded(word: string): string {
  // The cut may split a surrogate pair.
  const short = word.slice(0, maxWordLength).toWellFormed()
  return /^[a-z]{3,}[^s]s$/.test(short) ? short.slice(0, -1) : short
}
