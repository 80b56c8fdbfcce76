import type { Memory } from '../domain/memory.ts'
import { findMemory } from '../store/knowledge/memories.ts'
import { isAnyForgotten, narrativeBasis } from '../store/knowledge/narrative-basis.ts'
import type { Narrative } from '../store/knowledge/narratives.ts'
import type { Reading } from '../store/store.ts'
import { currentMemory } from './describe.ts'

/** A replaced memory that a narrative is based on, with its replacement. */
export interface Correction {
  was: number
  now: Memory
}

/** The corrections made since a narrative was written; undefined if it may repeat what was forgotten. */
export async function correctionsOf(rows: Reading, narrative: Narrative): Promise<Correction[] | undefined> {
  // It may repeat what an earlier narrative said, without citing that one's memories.
  const basis = await narrativeBasis(rows, narrative.id)
  const memoryIds = basis.flatMap((each) => each.memoryIds)
  const runIds = basis.flatMap(({ runId }) => runId ?? [])
  if (await isAnyForgotten(rows, memoryIds, runIds)) return undefined
  const corrected: Correction[] = []
  for (const id of narrative.memoryIds) {
    const memory = await findMemory(rows, id)
    const now = memory && (await currentMemory(rows, memory))
    if (now) corrected.push({ was: id, now })
  }
  return corrected
}

/** A narrative as it is shown; `withheld` if its own words are not. */
export interface ShownNarrative extends Narrative {
  withheld?: true
}

/** A narrative as people are shown it: without its words if it may repeat what was forgotten. */
export async function shownNarrative(rows: Reading, narrative: Narrative): Promise<ShownNarrative> {
  if (await correctionsOf(rows, narrative)) return narrative
  return { ...narrative, summary: withheldSummary, topic: null, withheld: true }
}

const withheldSummary = '(withheld: it may repeat a memory that was forgotten)'
