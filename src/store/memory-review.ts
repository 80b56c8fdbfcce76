import type { Memory } from '../domain/memory.ts'
import { memoryFrom, unarchiveMemory, widenMemory } from './memories.ts'
import { metaValue, setMeta } from './meta.ts'
import type { Reading, Tx } from './store.ts'

const reviewKey = 'replaced_to_review'

/** How far the review of replacements by earlier versions has come. */
export interface Review {
  /** Replaced by this memory or an older one: an earlier version did it. */
  upTo: number
  /** Memories up to this number are reviewed. */
  after: number
  /** How many were brought back, and the first of them. */
  count: number
  ids: number[]
}

/** Undefined where there is nothing to review. */
export async function findReview(rows: Reading): Promise<Review | undefined> {
  const value = await metaValue(rows, reviewKey)
  return value === undefined ? undefined : { after: 0, count: 0, ids: [], ...JSON.parse(value) }
}

export async function saveReview(tx: Tx, review: Review): Promise<void> {
  await setMeta(tx, reviewKey, JSON.stringify(review))
}

export async function endReview(tx: Tx): Promise<void> {
  await tx.run(tx.build.deleteFrom('meta').where('key', '=', reviewKey))
}

/** The next replaced memories that still say something, in the order of their numbers, also from the archive. */
export async function nextReplaced(rows: Reading, { upTo, after }: Review, limit: number): Promise<Memory[]> {
  const page = (table: 'memories' | 'memories_archive') =>
    rows.all(
      // Both have the same columns.
      rows.build
        .selectFrom(table as 'memories')
        .selectAll()
        .where('superseded_by', '<=', upTo)
        .where('forgotten_at', 'is', null)
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit),
    )
  const found = [...(await page('memories')), ...(await page('memories_archive'))].map(memoryFrom)
  return found.sort((a, b) => a.id - b.id).slice(0, limit)
}

/** Makes a replaced memory count again: it is found as if it had never been replaced. */
export async function bringBackMemory(tx: Tx, memory: Memory): Promise<void> {
  await unarchiveMemory(tx, memory.id)
  await tx.run(tx.build.updateTable('memories').set({ superseded_by: null }).where('id', '=', memory.id))
  await widenMemory(tx, memory)
}
