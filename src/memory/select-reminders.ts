import { namesOther } from '../domain/text/names-other.ts'
import { differingWords, looksAlike } from '../domain/text/statement.ts'
import type { RecalledMemory } from './recall.ts'

const maxShown = 5
/** Matches below this are chance. */
const minRelevance = 0.2
/** Share of the best match's relevance below which a match is about something else. */
const minShareOfBest = 0.5
/** The same for a newer statement on the subject of a shown one: it may correct that in other words. */
const minShareOfNewer = 0.3
/** Max such statements. */
const maxNewer = 2

/**
 * The recalled memories that a run is reminded of, best first. Among those on one subject the newest comes first and is not
 * left out for an older one: if they contradict each other, what was said last stands first. What says the same of something else
 * than what was asked about stands behind.
 */
export function selectReminders(recalled: readonly RecalledMemory[]): RecalledMemory[] {
  const fitting = dropWeakMatches(recalled)
  const best = groupsOf(fitting, isAlike).flatMap(bestOfAlike).sort(byRank).slice(0, maxShown)
  const newer = newerOnSubject(recalled, best)
  const shown = [...best.slice(0, maxShown - newer.length), ...newer]
  return groupsOf(shown, (a, b) => isAlike(a, b) || isOnSubject(a, b)).flatMap(askedFirst)
}

/** Drops matches that may be chance, or are about something else than the best one. */
export function dropWeakMatches<T extends { relevance: number }>(matches: readonly T[]): T[] {
  const best = bestRelevance(matches)
  const least = Math.max(minRelevance, best * minShareOfBest)
  return matches.filter(({ relevance }) => relevance >= least)
}

/** Matches on the subject of a shown one that were saved after it: an update rarely repeats the words of a question. */
function newerOnSubject(recalled: readonly RecalledMemory[], shown: readonly RecalledMemory[]): RecalledMemory[] {
  const least = bestRelevance(shown) * minShareOfNewer
  const known = new Set(shown.map(({ memory }) => memory.id))
  return recalled
    .filter((each) => each.relevance >= least && !known.has(each.memory.id))
    .filter((each) => shown.some((older) => byAge(each, older) < 0 && isOnSubject(each, older)))
    .sort((a, b) => b.relevance - a.relevance || byAge(a, b))
    .slice(0, maxNewer)
}

function bestRelevance(matches: readonly { relevance: number }[]): number {
  return Math.max(0, ...matches.map(({ relevance }) => relevance))
}

function groupsOf<T>(all: readonly T[], isRelated: (a: T, b: T) => boolean): T[][] {
  const groups: T[][] = []
  for (const each of all) {
    const related = groups.find((group) => group.some((other) => isRelated(other, each)))
    if (related) related.push(each)
    else groups.push([each])
  }
  return groups
}

function isAlike({ memory: a }: RecalledMemory, { memory: b }: RecalledMemory): boolean {
  return looksAlike(a.content, b.content)
}

/** The newest first; behind them what is about something else. */
function askedFirst(group: readonly RecalledMemory[]): RecalledMemory[] {
  const best = rounded(bestRelevance(group))
  const asked = group.filter((each) => rounded(each.relevance) === best)
  const others = group.filter((each) => !asked.includes(each))
  const apart = new Set(others.filter((other) => asked.some((each) => isOfOther(other, each))))
  return [...group.filter((each) => !apart.has(each)).sort(byAge), ...[...apart].sort(byAge)]
}

/**
 * Whether a statement is about something else than the one that was asked for: it names another thing in its place, or both have one
 * shape and differ in a word of the question and in another one. A correction differs only in the latter.
 */
function isOfOther({ memory, words }: RecalledMemory, asked: RecalledMemory): boolean {
  if (namesOther(asked.memory.content, memory.content, asked.words)) return true
  const differing = differingWords(asked.memory.content, memory.content)
  const isAsked = differing.map(([own, other]) => has(asked.words, own) && !has(words, other))
  return isAsked.includes(true) && isAsked.includes(false)
}

function has(words: readonly string[], { forms }: { forms: readonly string[] }): boolean {
  return forms.some((form) => words.includes(form))
}

/** Whether one has the most significant word by which the other was found. */
function isOnSubject({ words: a }: RecalledMemory, { words: b }: RecalledMemory): boolean {
  const [[ofA], [ofB]] = [a, b]
  return (ofA !== undefined && b.includes(ofA)) || (ofB !== undefined && a.includes(ofB))
}

/** Among statements alike the best match ranks first, and of equal ones the newest: how often one was shown says nothing. */
function bestOfAlike(group: readonly RecalledMemory[]): RecalledMemory[] {
  const ranks = group.map(({ rank }) => rank).sort((a, b) => b - a)
  const inOrder = group.toSorted((a, b) => rounded(b.relevance) - rounded(a.relevance) || byAge(a, b))
  return inOrder.map((each, at) => ({ ...each, rank: ranks[at] ?? each.rank }))
}

/** Relevances that differ less are equal. */
function rounded(relevance: number): number {
  return Math.round(relevance * 1000)
}

function byRank(a: RecalledMemory, b: RecalledMemory): number {
  return b.rank - a.rank || b.relevance - a.relevance || b.memory.id - a.memory.id
}

function byAge({ memory: a }: RecalledMemory, { memory: b }: RecalledMemory): number {
  return b.saidAt - a.saidAt || b.id - a.id
}
