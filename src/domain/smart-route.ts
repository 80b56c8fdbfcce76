import type { Millis } from './clock.ts'
import { stopWords } from './text/stop-words.ts'
import { timeWords } from './text/time-words.ts'
import { scriptRunsIn, wordsIn } from './text/words.ts'

/** A session that a message may belong to, with its recent text. */
export interface Candidate {
  folder: string
  label: string
  updatedAt: Millis
  /** Recent turns: what the user asked, and what was answered. */
  turns: { asked: string; answered: string }[]
}

/** A session that shares words with a message. */
export interface SessionMatch {
  session: string
  folder: string
  /** 0 to 1: confidence that the message belongs to this session only. */
  confidence: number
  /** Words that it shares with the message, most significant first. */
  words: string[]
  updatedAt: string
}

/** Sessions that match a message: the chosen one if the match is clear, and the other candidates. */
export interface SmartRoute {
  chosen: SessionMatch | null
  /** Other matches, best first. */
  others: SessionMatch[]
}

/** Max characters of a text that are compared. */
const maxText = 20_000
/** Min confidence to send a message without asking. */
const minConfidence = 0.5
/** Min confidence if only two words are shared, none of them in the label: everyday words meet by chance. */
const minOfTwoWords = 0.6
const maxOthers = 5

const halfLife = 14 * 86_400_000
/** Bonus of a session that was active just now. */
const recencyWeight = 0.15

/** BM25 term saturation: repeated words add little. */
const saturation = 0.6
const lengthWeight = 0.4
/** Questions tell more about a session's topic than answers; its label most. */
const askedTimes = 2
const labelTimes = 3

/** Score from which a match counts as certain. */
const certainScore = 1.8
/** Share of the best match that the next one may have at most if two words of the label decide. */
const maxRival = 0.5
/** Unknown words count little against a session: messages bring new words. */
const unknownWeight = 0.35

/**
 * Finds the session that a message belongs to. Rare words weigh more. A match is chosen only if it shares at least two
 * words of one turn, or all that the message has, covers enough of the message, and beats the next session clearly. Words of its
 * label that stand side by side name it, which is enough; scattered over the message they are one sign together.
 */
export function matchSessions(message: string, candidates: readonly Candidate[], now: Millis): SmartRoute {
  const sessions = candidates.map((candidate) => ({ candidate, words: candidateWords(candidate) }))
  const messageWords = weighWords(message.slice(0, maxText), sessions)
  const lengths = sessions.map(({ words }) => lengthOf(words))
  const averageLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  const fits = sessions
    .map((each, at) => fitOf(each, messageWords, (lengths[at] ?? 0) / averageLength, now))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.ranked - a.ranked)
  const all = messageWords.reduce((sum, { weight, having }) => sum + weight * (having === 0 ? unknownWeight : 1), 0)
  const matches = fits.map((fit, at) => matchOf(fit, fits[at === 0 ? 1 : 0]?.ranked ?? 0, all))
  const [best, ...others] = matches
  const [fit, next] = fits
  const isNamed = fit?.isNamed === true && (next?.ranked ?? 0) <= maxRival * fit.ranked
  const min = fit?.signs === 2 && fit.labelWords === 0 ? minOfTwoWords : minConfidence
  if (best && fit && (isNamed || (best.confidence >= min && !fit.isChance)))
    return {
      chosen: { ...best, confidence: Math.max(best.confidence, minConfidence) },
      others: others.slice(0, maxOthers),
    }
  return { chosen: null, others: matches.slice(0, maxOthers) }
}

interface IndexedSession {
  candidate: Candidate
  words: Map<string, WordUse>
}

/** A word of the message. */
interface MessageWord {
  stem: string
  word: string
  /** Which word of the text it is or is a part of. */
  token: number
  /** Number of sessions that contain it. */
  having: number
  weight: number
}

function weighWords(message: string, sessions: readonly IndexedSession[]): MessageWord[] {
  const words = [...ownWords(message), ...topicWords(message.replace(newThing, ''))]
  const byStem = new Map(words.map((word) => [word.stem, word]))
  return [...byStem.values()].map(({ stem, word, token }) => {
    const having = sessions.filter(({ words }) => words.has(stem)).length
    return { stem, word, token, having, weight: rarity(having, sessions.length) }
  })
}

interface Fit {
  candidate: Candidate
  words: string[]
  score: number
  /** Score with recency: decides the order, not the confidence. */
  ranked: number
  /** Weight of the shared words within the message. */
  covered: number
  /** Matched by one word of several, or by one that occurs only in answers: too little, however rare it is. */
  isChance: boolean
  /** Number of shared words. */
  signs: number
  /** Number of shared words that are in its label. */
  labelWords: number
  /** Two words of its label stand side by side in the message. */
  isNamed: boolean
}

/** `length` is the text's length relative to the average: long texts contain any word more easily. */
function fitOf(
  { candidate, words }: IndexedSession,
  messageWords: readonly MessageWord[],
  length: number,
  now: Millis,
): Fit {
  const bound = saturation * (1 - lengthWeight + lengthWeight * length)
  const shared = messageWords
    .flatMap(({ stem, word, token, weight }) => {
      const use = words.get(stem)
      if (!use) return []
      const score = (weight * use.times * (1 + saturation)) / (use.times + bound)
      return [{ word, token, weight, score, ...use }]
    })
    .sort((a, b) => b.score - a.score)
  const score = shared.reduce((sum, each) => sum + each.score, 0)
  const inLabel = shared.filter(({ isInLabel }) => isInLabel)
  const labelWords = countDistinct(inLabel)
  const isNamed = inLabel.some(({ token }) => inLabel.some((other) => other.token === token + 1))
  const telling = shared.filter(({ word }) => !isInAnyTopic(word))
  const signs = countDistinct(telling)
  const outsideLabel = signs - countDistinct(telling.filter(({ isInLabel }) => isInLabel))
  const independent = isNamed ? signs : labelWords > 0 ? outsideLabel + 1 : mostInOneTurn(telling)
  const recency = 1 + recencyWeight * 2 ** (-Math.max(0, now - candidate.updatedAt) / halfLife)
  return {
    candidate,
    words: shared.map(({ word }) => word),
    score,
    ranked: score * recency,
    covered: shared.reduce((sum, each) => sum + each.weight, 0),
    signs,
    isChance: independent < 2 && (countDistinct(messageWords) > signs || shared[0]?.isAnswerOnly === true),
    labelWords,
    isNamed,
  }
}

function matchOf({ candidate, words, score, ranked, covered }: Fit, rival: number, all: number): SessionMatch {
  const sufficiency = Math.min(1, score / certainScore)
  const lead = Math.max(0, 1 - rival / ranked)
  return {
    session: candidate.label,
    folder: candidate.folder,
    confidence: Math.round(sufficiency * Math.sqrt((covered / all) * lead) * 100) / 100,
    words,
    updatedAt: new Date(candidate.updatedAt).toISOString(),
  }
}

/** 1 for a word that only one session contains, less for common words. */
function rarity(having: number, sessions: number): number {
  const of = (count: number) => Math.log(1 + (sessions - count + 0.5) / (count + 0.5))
  return of(Math.max(1, having)) / of(1)
}

/** In any text by chance: small numbers, money, forms of address, and single kanji, which are mostly stems of verbs. */
const anyTopic = /^(?:\d{1,3}|euro?|dollar|usd|geehrte[rn]?|frau|herrn?|mrs?|\p{Script=Han})$/u

function isInAnyTopic(word: string): boolean {
  return timeWords.has(word) || anyTopic.test(word)
}

/** Max number of these words that came up in one turn: those of different turns meet in a message by chance. */
function mostInOneTurn(words: readonly { token: number; turns: ReadonlySet<number> }[]): number {
  const turns = new Set(words.flatMap((word) => [...word.turns]))
  return Math.max(0, ...[...turns].map((turn) => countDistinct(words.filter((word) => word.turns.has(turn)))))
}

interface WordUse {
  /** Number of times that it occurs; questions and the label count more than once. */
  times: number
  isAnswerOnly: boolean
  isInLabel: boolean
  /** Turns that it occurs in, by their place. */
  turns: Set<number>
}

function candidateWords({ label, turns }: Candidate): Map<string, WordUse> {
  const words = new Map<string, WordUse>()
  const add = (text: string, weight: number, first: Pick<WordUse, 'isAnswerOnly' | 'isInLabel'>, turn?: number) => {
    for (const { stem } of topicWords(text)) {
      const use = words.get(stem) ?? { times: 0, turns: new Set(), ...first }
      use.times += weight
      if (turn !== undefined) use.turns.add(turn)
      words.set(stem, use)
    }
  }
  add(label, labelTimes, { isAnswerOnly: false, isInLabel: true })
  for (const [at, { asked }] of turns.entries()) add(asked, askedTimes, { isAnswerOnly: false, isInLabel: false }, at)
  for (const [at, { answered }] of turns.entries()) add(answered, 1, { isAnswerOnly: true, isInLabel: false }, at)
  return words
}

function lengthOf(words: ReadonlyMap<string, WordUse>): number {
  return words.values().reduce((sum, { times }) => sum + times, 0)
}

/** Parts of one word, such as `readFile` or 請求書, are one sign. */
function countDistinct(words: readonly { token: number }[]): number {
  return new Set(words.map(({ token }) => token)).size
}

/** Topic words of a text with their stems; what is written in hiragana is mostly grammar. */
function topicWords(text: string): { word: string; stem: string; token: number }[] {
  return tokensIn(text.slice(0, maxText)).flatMap((run, token) =>
    (/^[\p{Script=Hiragana}ー]+$/u.test(run) ? [] : wordsIn(run))
      .filter((word) => !stopWords.has(word) && (word.length > 1 || /\P{ASCII}/u.test(word)))
      .map((word) => ({ word, stem: stemOf(word), token })),
  )
}

/**
 * Words of a text, without the verb that opens a request, and numbers without separators of thousands. A path is one, and of
 * a file only its name.
 */
function tokensIn(text: string): string[] {
  return text
    .replace(openingVerb, '')
    .replace(/(?<=\d)[.,'’\u00a0\u202f](?=\d{3}(?!\d))/g, '')
    .split(paths)
    .flatMap((part, at) => (at % 2 === 1 ? [fileName(part) ?? part] : [...scriptRunsIn(part)].map(({ run }) => run)))
}

/** Letters that have capitals: those of scripts without spaces would run on into the words beside a path. */
const inPath = '[\\p{Lu}\\p{Ll}\\p{M}\\p{N}_.~:@%+-]'
const paths = new RegExp(
  `(?<!${inPath})(${inPath}*(?:/(?:${inPath}|[?&=#])*)+|${inPath}+\\.[a-z][a-z0-9]{0,3}(?![\\p{L}\\p{N}]))`,
  'u',
)

/** `date` of `src/date.test.ts`: its folders and endings are those of many files. */
function fileName(path: string): string | undefined {
  return /(?:^|\/)\.*([^./]+)\.[a-z][^/]*$/.exec(path)?.[1]
}

const sentenceStart = '(?:^|[.!?\\n] ?)(?:[Pp]lease |[Bb]itte )?'
const articles = 'the|a|my|our|your|this|these|that|those|die|das|den|dem|(?:m?ein|unser)(?:e[nm]?)?'
/** First word of a sentence before an article: "Cancel my …", "Prepare the …" say what to do, not about what. */
const openingVerb = new RegExp(`(?<=${sentenceStart})\\p{L}+(?= (?:${articles}) )`, 'gu')
/** What a request wants made: "Write a job ad", where a request that goes on says "the job ad". Capitals after "a" begin a name. */
const newThing = new RegExp(
  `(?<=${sentenceStart}\\p{L}+ )(?:an? \\p{Ll}+(?: \\p{Ll}+)?|eine?n? (?:\\p{Ll}+ )?\\p{L}+)`,
  'gu',
)

/** Words of a message that count as shared with no session, wherever they came up. Their stems are those of no other word. */
function ownWords(text: string): { word: string; stem: string; token: number }[] {
  const words = [openingVerb, newThing].flatMap((pattern) => text.match(pattern) ?? []).flatMap(wordsIn)
  const own = words.filter((word) => !stopWords.has(word))
  return own.map((word, at) => ({ word, stem: `${word} …`, token: -1 - at }))
}

/**
 * Strips English suffixes: `deployed`, `deploying` and `deployment` have one stem. After one short syllable the e stays, as in
 * Porter's stemmer: `plane` and `planing` are not `plan`, whose consonant is doubled in `planned`.
 */
function stemOf(word: string): string {
  const cut = word.replace(/(?<=[a-z]{4})(?:ations?|ments?|ings?|ions?|ers?|ed|es|ly|e)$/, '')
  const single = cut.replace(/([bdfgklmnprt])\1$/, '$1')
  const isShort = /^[^aeiouy]*[aeiouy][^aeiouywx]$/.test(single) && single === cut && cut !== word
  const whole = isShort && /^(?:e|es|ed|ers?|ings?)$/.test(word.slice(cut.length)) ? `${cut}e` : single
  return whole.replace(/(?<=[a-z]{2})y$/, 'i')
}
