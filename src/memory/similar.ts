import type { Memory } from '../domain/memory.ts'
import { looksAlike } from '../domain/text/statement.ts'
import { uniqueTerms } from '../domain/text/words.ts'
import { memoriesOf, newestMemory } from '../store/knowledge/memories.ts'
import { searchMemories } from '../store/knowledge/memory-search.ts'
import type { Reading } from '../store/store.ts'

/** Max search hits that a statement is compared with: an equal one shares all words and is among the first. */
const maxCompared = 50
/** Max similar memories that are reported. */
const maxSimilar = 12

/** Active memories that share words with a statement, nearest first. */
export async function memoriesLike(rows: Reading, content: string): Promise<Memory[]> {
  const total = await newestMemory(rows)
  if (total === undefined) return []
  const hits = await searchMemories(rows, uniqueTerms(content), total, maxCompared)
  const found = await memoriesOf(
    rows,
    hits.map(({ id }) => id),
  )
  return hits.flatMap(({ id }) => found.get(id) ?? [])
}

/** Those of them that a reader should compare with the statement: they may say the same or the opposite, or tell it among other things. */
export function similarTo(
  content: string,
  memories: readonly Memory[],
  tells: (other: string) => boolean = () => false,
): Memory[] {
  return memories.filter((each) => looksAlike(each.content, content) || tells(each.content)).slice(0, maxSimilar)
}
