import { lockMemories } from '../store/knowledge/memories.ts'
import { endRefold, findRefold, refoldMemories, refoldPassages, saveRefold } from '../store/knowledge/refold.ts'
import type { Store } from '../store/store.ts'

/** Memories or passages of one transaction. */
const pageSize = 200

/**
 * Replaces the words by which memories and notes are found, after an upgrade that folds words differently. Safe to stop
 * after any page; two processes may do it at once.
 */
export async function refoldWords(store: Store): Promise<void> {
  if (!(await store.read(findRefold))) return
  for (let isDone = false; !isDone; )
    isDone = await store.write('import', async (tx) => {
      await lockMemories(tx)
      const left = await findRefold(tx)
      if (!left) return true
      const memories = await refoldMemories(tx, left.memories, pageSize)
      const passages = await refoldPassages(tx, left.passages, pageSize)
      if (memories === undefined && passages === undefined) {
        await endRefold(tx)
        return true
      }
      await saveRefold(tx, { memories: memories ?? left.memories, passages: passages ?? left.passages })
      return false
    })
}
