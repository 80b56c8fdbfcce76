import type { Memory } from '../../domain/memory.ts'
import { metaValue, setMeta } from '../rows/meta.ts'
import type { Reading, Tx } from '../store.ts'
import { memoryFrom, retagMemory, unarchiveMemory } from './memories.ts'

const reviewKey = 'replaced_to_review'

/** How far the review of replacements by earlier versions has come. */
export interface Review {
  /** Replacements by this memory or an older one were made by an earlier version. */
  upTo: number
  /** Memories up to this id are reviewed. */
  after: number
  /** Number of memories brought back, and the first ids. */
  count: number
  ids: number[]
}

/** Pending review of replaced memories; undefined when there is none. */
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

/** Next replaced memories with content, by id, archived ones included. */
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

/** Makes a replaced memory active again. */
export async function bringBackMemory(tx: Tx, memory: Memory): Promise<void> {
  await unarchiveMemory(tx, memory.id)
  await tx.run(tx.build.updateTable('memories').set({ superseded_by: null }).where('id', '=', memory.id))
  await retagMemory(tx, memory)
}
