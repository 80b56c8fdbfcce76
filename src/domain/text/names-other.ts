import { stopWords } from './stop-words.ts'
import { spellingsIn } from './words.ts'

/** Articles and prepositions that stand in what a sentence begins with: the port of the API, das Büro in Berlin. */
const linking = new Set(
  spellingsIn(
    'a an the my our your of in at on for with from to ' +
      'der die das des dem den ein eine mein meine unser unsere von vom im am auf bei beim für mit zu zum zur',
  ),
)

/** A word of a statement that says something. */
interface TellingWord {
  forms: readonly string[]
  /** With a digit, or with a capital that is not that of a sentence. */
  kind: 'number' | 'name' | undefined
  /** Directly behind another one. */
  isJoined: boolean
  /** Of what the statement begins with: up to a colon, or a word such as "is" or "we". */
  isLeading: boolean
}

/**
 * Whether a statement begins with another name or number in the place of one in the question that the statement asked for has: "the
 * office in Munich" for "the office in Berlin". The latter must tell more behind it than the question says: otherwise the name may be what
 * was corrected. `words` are those of the question that it has.
 */
export function namesOther(asked: string, other: string, words: readonly string[]): boolean {
  const [own, others] = [tellingWords(asked), tellingWords(other)]
  return own.some((name, at) => {
    const before = own[at - 1]
    if (!before || !isName(name) || !isOneOf(words, name) || others.some(sameWord(name))) return false
    const tellsMore = own.slice(at + 1).some((word) => !isOneOf(words, word) && !others.some(sameWord(word)))
    const isInItsPlace = (each: TellingWord, place: number) =>
      isName(each) &&
      each.kind === name.kind &&
      !own.some(sameWord(each)) &&
      sameWord(before)(wordBefore(others, place, own))
    return tellsMore && others.some(isInItsPlace)
  })
}

/** The word that a name stands behind: "port" in "port of the admin UI", whose name begins with "admin". */
function wordBefore(words: readonly TellingWord[], at: number, known: readonly TellingWord[]): TellingWord | undefined {
  const before = words[at - 1]
  const isPartOfName = words[at]?.isJoined && before && !known.some(sameWord(before))
  return isPartOfName ? wordBefore(words, at - 1, known) : before
}

function tellingWords(text: string): TellingWord[] {
  const found: TellingWord[] = []
  let [isFirst, isJoined, isLeading] = [true, false, true]
  for (const { groups } of text.toWellFormed().matchAll(wordAndRest)) {
    const { word = '', rest = '' } = groups ?? {}
    const forms = spellingsIn(word)
    const kind = /\p{N}/u.test(word) ? 'number' : /\p{Lu}/u.test(word) && !isFirst ? 'name' : undefined
    const isTelling = kind !== undefined || !forms.some((form) => stopWords.has(form))
    isLeading &&= isTelling || forms.some((form) => linking.has(form))
    if (isTelling) found.push({ forms, kind, isJoined, isLeading })
    isFirst = /[.!?]\s/.test(rest)
    isJoined = isTelling
    isLeading &&= !/[:;.!?]\s/.test(rest)
  }
  return found
}

const wordAndRest = /(?<word>[\p{L}\p{N}\p{M}]+)(?<rest>[^\p{L}\p{N}\p{M}]*)/gu

function isName({ kind, isLeading }: TellingWord): boolean {
  return kind !== undefined && isLeading
}

function sameWord({ forms }: TellingWord): (other: TellingWord | undefined) => boolean {
  return (other) => other?.forms.some((form) => forms.includes(form)) ?? false
}

function isOneOf(words: readonly string[], { forms }: TellingWord): boolean {
  return forms.some((form) => words.includes(form))
}
