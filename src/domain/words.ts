/** A longer run of letters is no word that anybody looks for. */
const longestWord = 40
/** Of one text; a book is found by its first words. */
const mostWords = 2000

/** Words that say nothing of what a statement is about. */
const fillers = new Set(
  (
    'the a an is are was were be to of in on at by for with and or it its we our you your i me my they this that now do ' +
    'does did has have had will would should must can what which who when where why how about there please tell know ' +
    'der die das ein eine ist sind und oder von zu mit wir was wie wo'
  ).split(' '),
)

const scriptsWithoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/u

/**
 * The words of a text, folded so that spelling does not matter: case, accents, the `s` of a plural, `camelCase` and
 * `kebab-case`. Writing without spaces is taken in pairs of characters. No text is an error.
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
    if (words.length >= mostWords) break
    words.push(...(scriptsWithoutSpaces.test(run) ? pairsOf(run) : [folded(run)]))
  }
  return words
}

/** Words that say what a text is about. */
export function aboutWords(text: string): Set<string> {
  return new Set(wordsIn(text).filter((word) => !fillers.has(word)))
}

/** What a question is looked up by: a word like "what" leads somewhere only where there is no other. */
export function askedWords(question: string): string[] {
  const about = [...aboutWords(question)]
  return about.length > 0 ? about : wordsIn(question)
}

/** How often each word is in a text. */
export function wordCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of wordsIn(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** How much two texts have in common, by their words: 0 for nothing, 1 for everything. */
export function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
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
  // The cut may fall into the middle of a character.
  const short = word.slice(0, longestWord).toWellFormed()
  return /^[a-z]{3,}[^s]s$/.test(short) ? short.slice(0, -1) : short
}
