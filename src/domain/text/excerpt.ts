import { scriptRunsIn, spellingsIn } from './words.ts'

/** Usual length of an excerpt, in characters. */
const usualLength = 240
/** Characters of a text that are looked through. */
const maxSearched = 200_000

/** A part of a text in which words of a query stand. */
interface Excerpt {
  /** On one line; `…` stands for what was left out. */
  passage: string
  /** Where the words stand: from and to, in UTF-16 units of the passage. */
  marks: [from: number, to: number][]
}

interface TextSpan {
  from: number
  to: number
  words: string[]
}

/** The part of a text that has the most of these words, the first of several; its beginning if it has none. */
export function excerptOf(text: string, words: readonly string[], maxLength = usualLength): Excerpt {
  const plain = text.slice(0, maxSearched).toWellFormed().normalize('NFC').replace(/\s+/g, ' ').trim()
  const wanted = new Set(words)
  const places = wordSpans(plain, wanted)
  const { first, last } = densest(places, maxLength)
  const start = places[first]?.from ?? 0
  const end = places[last]?.to ?? 0
  const before = Math.max(0, Math.min(start, Math.floor((maxLength - (end - start)) / 2)))
  const from = start <= before ? 0 : boundary(plain, start - before, start)
  const to = from + maxLength >= plain.length ? plain.length : boundary(plain, from + maxLength, plain.length, end)
  const lead = from > 0 ? '… ' : ''
  const marks = places
    .filter((place) => place.from >= from && place.to <= to)
    .map((place): [number, number] => [place.from - from + lead.length, place.to - from + lead.length])
  return { passage: `${lead}${plain.slice(from, to)}${to < plain.length ? ' …' : ''}`, marks }
}

/** Places of the wanted words, in order. A word of a compound such as `camelCase` marks all of it. */
function wordSpans(text: string, wanted: ReadonlySet<string>): TextSpan[] {
  const places: TextSpan[] = []
  for (const { run, index, isPaired } of scriptRunsIn(text)) {
    if (isPaired) places.push(...pairPlaces(run, index, wanted))
    else {
      const words = spellingsIn(run).filter((word) => wanted.has(word))
      if (words.length > 0) places.push({ from: index, to: index + run.length, words })
    }
  }
  return places
}

/** In scripts without spaces words are pairs of characters; overlapping ones are one place. */
function pairPlaces(token: string, index: number, wanted: ReadonlySet<string>): TextSpan[] {
  const places: TextSpan[] = []
  const characters = [...token]
  let at = index
  for (const [number, character] of characters.entries()) {
    const next = characters[number + 1] ?? ''
    const to = at + character.length + next.length
    const isPair = next !== '' || characters.length === 1
    const words = isPair ? spellingsIn(character + next).filter((word) => wanted.has(word)) : []
    const last = places.at(-1)
    if (words.length > 0 && last && last.to >= at) {
      last.to = to
      last.words.push(...words)
    } else if (words.length > 0) places.push({ from: at, to, words })
    at += character.length
  }
  return places
}

/** First and last place of the stretch within the max length that has the most different words. */
function densest(places: readonly TextSpan[], maxLength: number): { first: number; last: number } {
  let best = { first: 0, last: 0, words: 0 }
  const inside = new Map<string, number>()
  let first = 0
  for (const [last, place] of places.entries()) {
    for (const word of place.words) inside.set(word, (inside.get(word) ?? 0) + 1)
    while (first < last && place.to - (places[first] as TextSpan).from > maxLength) {
      for (const word of (places[first] as TextSpan).words) {
        const left = (inside.get(word) ?? 1) - 1
        if (left === 0) inside.delete(word)
        else inside.set(word, left)
      }
      first++
    }
    if (inside.size > best.words) best = { first: narrowest(places, last, inside.size), last, words: inside.size }
  }
  return best
}

/** First place of the shortest stretch up to a place that has so many different words: a common one stands everywhere. */
function narrowest(places: readonly TextSpan[], last: number, count: number): number {
  const words = new Set<string>()
  for (let first = last; first > 0; first--) {
    for (const word of places[first]?.words ?? []) words.add(word)
    if (words.size === count) return first
  }
  return 0
}

/** A place to cut: after the next space, if that is near and before the limit; never within a surrogate pair. */
function boundary(text: string, at: number, limit: number, least = 0): number {
  const near = text.slice(Math.max(at, least), Math.min(at + 20, limit)).indexOf(' ')
  if (near !== -1) return Math.max(at, least) + near + (least > 0 ? 0 : 1)
  const place = Math.max(at, least)
  return /[\udc00-\udfff]/.test(text.charAt(place)) ? place + 1 : place
}
