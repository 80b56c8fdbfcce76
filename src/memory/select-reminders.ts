import { looksAlike } from '../domain/text/statement.ts'
import type { RecalledMemory } from './recall.ts'

const maxShown = 5
/** Matches below this are chance. */
const minRelevance = 0.2
/** Share of the best match's relevance below which a match is about something else. */
const minShareOfBest = 0.5

/**
 * The recalled memories that a run is reminded of, best first. Among those that look alike the newest comes first and is
 * never left out for an older one: if they contradict each other, what was said last stands first.
 */
export function selectReminders(recalled: readonly RecalledMemory[]): RecalledMemory[] {
  const groups: RecalledMemory[][] = []
  for (const each of aboutTheSame(recalled)) {
    const alike = groups.find((group) => group.some(({ memory }) => looksAlike(memory.content, each.memory.content)))
    if (alike) alike.push(each)
    else groups.push([each])
  }
  const best = groups.flatMap(newestOfEquals).sort(byRank).slice(0, maxShown)
  const shown = new Set(best.map(({ memory }) => memory.id))
  return groups.flatMap((group) => group.filter(({ memory }) => shown.has(memory.id)).sort(byAge))
}

/** Matches that are neither chance nor about something else than the best one. */
export function aboutTheSame<T extends { relevance: number }>(matches: readonly T[]): T[] {
  const best = Math.max(0, ...matches.map(({ relevance }) => relevance))
  const least = Math.max(minRelevance, best * minShareOfBest)
  return matches.filter(({ relevance }) => relevance >= least)
}

/** Ranks of equally relevant ones go to the newest first. */
function newestOfEquals(group: readonly RecalledMemory[]): RecalledMemory[] {
  return [...Map.groupBy(group, ({ relevance }) => relevance.toFixed(3)).values()].flatMap((equals) => {
    const ranks = equals.map(({ rank }) => rank).sort((a, b) => b - a)
    return equals.toSorted(byAge).map((each, at) => ({ ...each, rank: ranks[at] ?? each.rank }))
  })
}

function byRank(a: RecalledMemory, b: RecalledMemory): number {
  return b.rank - a.rank || b.memory.id - a.memory.id
}

function byAge({ memory: a }: RecalledMemory, { memory: b }: RecalledMemory): number {
  return b.createdAt - a.createdAt || b.id - a.id
}
