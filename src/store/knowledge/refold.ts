import { clearMeta, metaValue, setMeta } from '../rows/meta.ts'
import type { Reading, Tx } from '../store.ts'
import { indexPassages } from './home-files.ts'
import { memoryFrom, reindexMemory } from './memories.ts'

/** Last memory and last passage whose words were replaced. */
interface Refold {
  memories: number
  passages: number
}

/** How far the replacement of words has come; undefined when there is none to make. */
export async function findRefold(rows: Reading): Promise<Refold | undefined> {
  const value = await metaValue(rows, 'words_to_fold')
  return value === undefined ? undefined : JSON.parse(value)
}

export async function saveRefold(tx: Tx, refold: Refold): Promise<void> {
  await setMeta(tx, 'words_to_fold', JSON.stringify(refold))
}

export async function endRefold(tx: Tx): Promise<void> {
  await clearMeta(tx, 'words_to_fold')
}

/** Replaces the words of the next active memories; returns the last one, undefined when there are no more. */
export async function refoldMemories(tx: Tx, after: number, limit: number): Promise<number | undefined> {
  const page = await tx.all(
    tx.build.selectFrom('memories').selectAll().where('id', '>', after).orderBy('id').limit(limit),
  )
  // Others have no words.
  for (const row of page)
    if (row.superseded_by === null && row.forgotten_at === null) await reindexMemory(tx, memoryFrom(row))
  return page.at(-1)?.id
}

/** The same for passages of files. */
export async function refoldPassages(tx: Tx, after: number, limit: number): Promise<number | undefined> {
  const page = await tx.all(
    tx.build
      .selectFrom('passages')
      .select(['id', 'heading', 'text'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit),
  )
  const ids = page.map(({ id }) => id)
  if (ids.length > 0) await tx.run(tx.build.deleteFrom('passage_words').where('passage_id', 'in', ids))
  await indexPassages(tx, page)
  return ids.at(-1)
}
