import type { Millis } from './clock.ts'
import { wordsIn } from './words.ts'

/** A session that a message may belong to, with what was said in it lately. */
export interface Candidate {
  folder: string
  label: string
  updatedAt: Millis
  /** What people asked. */
  asked: string
  /** What they were answered. */
  answered: string
}

/** A session that shares words with a message. */
export interface SessionMatch {
  session: string
  folder: string
  /** 0 to 1: how sure it is that the message belongs here and nowhere else. */
  confidence: number
  /** Words of the message that it has, those that say most first. */
  words: string[]
  updatedAt: string
}

/** Where a message belongs by its words: the one session it surely means, or none, and whatever else comes near. */
export interface SmartRoute {
  chosen: SessionMatch | null
  /** Others that share words with it, best first. */
  others: SessionMatch[]
}

/** From here on a message is sent without asking. */
const sureFrom = 0.5
const mostOthers = 5

const halfLife = 14 * 86_400_000
/** What was talked of a moment ago counts so much more than what was talked of long ago. */
const recencyWeight = 0.15

/** A word that came up once counts for itself; ten times over it counts for little more. */
const saturation = 0.6
const lengthWeight = 0.4
/** What people asked tells more of what a session is about than what they were answered; its label most. */
const askedTimes = 2
const labelTimes = 3

/** So many words that only one session has are as good as certain. */
const enough = 1.8
/** New words are no sign against a session: people go on to say new things. */
const unknownWeight = 0.35

/**
 * Finds the session that a message belongs to. A word weighs more the fewer sessions have it. Sure is only what shares
 * enough, covers enough of what the message says, and fits one session clearly better than the next.
 */
export function matchSessions(message: string, candidates: readonly Candidate[], now: Millis): SmartRoute {
  const known = candidates.map((candidate) => ({ candidate, words: wordsOf(candidate) }))
  const asked = weigh(message, known)
  const lengths = known.map(({ words }) => lengthOf(words))
  const usual = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  const fits = known
    .map((each, at) => fitOf(each, asked, (lengths[at] ?? 0) / usual, now))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.ranked - a.ranked)
  const all = asked.reduce((sum, { weight, having }) => sum + weight * (having === 0 ? unknownWeight : 1), 0)
  const matches = fits.map((fit, at) => matchOf(fit, fits[at === 0 ? 1 : 0]?.ranked ?? 0, all))
  const [best, ...others] = matches
  if (best && best.confidence >= sureFrom && !fits[0]?.isChance)
    return { chosen: best, others: others.slice(0, mostOthers) }
  return { chosen: null, others: matches.slice(0, mostOthers) }
}

interface Known {
  candidate: Candidate
  words: Map<string, Said>
}

/** A word of the message. */
interface Asked {
  stem: string
  word: string
  /** How many sessions have it. */
  having: number
  weight: number
}

function weigh(message: string, known: readonly Known[]): Asked[] {
  return [...new Map(topicWords(message).map(({ stem, word }) => [stem, word]))].map(([stem, word]) => {
    const having = known.filter(({ words }) => words.has(stem)).length
    return { stem, word, having, weight: rarity(having, known.length) }
  })
}

interface Fit {
  candidate: Candidate
  words: string[]
  score: number
  /** The score, with how recent it is: decides who comes first, not how sure that is. */
  ranked: number
  /** What its words weigh of all that the message says. */
  covered: number
  /** One word that nobody but an answer used says too little, however rare it is. */
  isChance: boolean
}

/** `length` is that of its text over the usual one: a long text has any word more easily. */
function fitOf({ candidate, words }: Known, asked: readonly Asked[], length: number, now: Millis): Fit {
  const bound = saturation * (1 - lengthWeight + lengthWeight * length)
  const shared = asked
    .flatMap(({ stem, word, weight }) => {
      const said = words.get(stem)
      if (!said) return []
      const score = (weight * said.times * (1 + saturation)) / (said.times + bound)
      return [{ word, weight, score, isAnswerOnly: said.isAnswerOnly }]
    })
    .sort((a, b) => b.score - a.score)
  const score = shared.reduce((sum, each) => sum + each.score, 0)
  const recency = 1 + recencyWeight * 2 ** (-Math.max(0, now - candidate.updatedAt) / halfLife)
  return {
    candidate,
    words: shared.map(({ word }) => word),
    score,
    ranked: score * recency,
    covered: shared.reduce((sum, each) => sum + each.weight, 0),
    isChance: shared.length === 1 && shared[0]?.isAnswerOnly === true,
  }
}

function matchOf({ candidate, words, score, ranked, covered }: Fit, rival: number, all: number): SessionMatch {
  const isEnough = Math.min(1, score / enough)
  const isClear = Math.max(0, 1 - rival / ranked)
  return {
    session: candidate.label,
    folder: candidate.folder,
    confidence: Math.round(isEnough * Math.sqrt((covered / all) * isClear) * 100) / 100,
    words,
    updatedAt: new Date(candidate.updatedAt).toISOString(),
  }
}

/** 1 for a word that one session alone has, less the more have it. */
function rarity(having: number, sessions: number): number {
  const of = (count: number) => Math.log(1 + (sessions - count + 0.5) / (count + 0.5))
  return of(Math.max(1, having)) / of(1)
}

interface Said {
  times: number
  isAnswerOnly: boolean
}

function wordsOf({ label, asked, answered }: Candidate): Map<string, Said> {
  const words = new Map<string, Said>()
  const add = (text: string, weight: number, isAnswerOnly: boolean) => {
    for (const { stem } of topicWords(text)) {
      const before = words.get(stem) ?? { times: 0, isAnswerOnly }
      words.set(stem, { ...before, times: before.times + weight })
    }
  }
  add(label, labelTimes, false)
  add(asked, askedTimes, false)
  add(answered, 1, true)
  return words
}

function lengthOf(words: ReadonlyMap<string, Said>): number {
  return words.values().reduce((sum, { times }) => sum + times, 0)
}

/** Words that say what a text is about, each with the form that its relatives share. */
function topicWords(text: string): { word: string; stem: string }[] {
  return wordsIn(text)
    .filter((word) => !small.has(word) && (word.length > 1 || /\P{ASCII}/u.test(word)))
    .map((word) => ({ word, stem: stemOf(word) }))
}

/** Cuts the endings that English puts to one word: `deployed`, `deploying` and `deployment` are one. */
function stemOf(word: string): string {
  const cut = word.replace(/(?<=[a-z]{4})(?:ations?|ments?|ings?|ions?|ers?|ed|es|ly|e)$/, '')
  return cut.replace(/([bdfgklmnprt])\1$/, '$1').replace(/(?<=[a-z]{2})y$/, 'i')
}

/** Words that any message may have, whatever it is about. */
const small = new Set(
  (
    'the a an is are was were be been am to of in on at by for with and or but if so it its we our us you your they ' +
    'them their this that these those there here now do does did doe done has ha have had will would should could can cannot ' +
    'must may might not no yes ok as from than then when where which what who whom why how whose i me my mine he she ' +
    'his her him any some all each every both other others another one two three first second last next again still ' +
    'also too only just even yet already ever never always often more most less least very much many few lot bit ' +
    'please thank hello hi let get got give gave go goes going went come came make made take took put say said tell ' +
    'told show shown see seen look want need like know think use used using work way thing something anything ' +
    'nothing somebody someone anybody nobody everybody people person new old good better best bad worse about after ' +
    'before between into out over under up down off through while until since because without within per same such ' +
    'own don isn doesn didn won re ve ll s t d m really add change fix write find help try start stop keep today ' +
    'yesterday tomorrow day week month year time ' +
    'der die das und oder ist sind war nicht kein ein eine einen mit von zu im am auf fur wie was wer wo wann warum ' +
    'ich du er sie es wir ihr mich dich uns bitte noch mal auch nur schon aber wenn dann den dem des'
  ).split(' '),
)
