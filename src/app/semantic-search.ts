import type { Config } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import { embedMemories } from '../memory/embed-memories.ts'
import { createSemanticIndex, type SemanticIndex } from '../memory/semantic-index.ts'
import type { Store } from '../store/store.ts'
import { makeEmbedder } from './models.ts'

/** Semantic search with the owner's embedder. */
export interface AppSemanticSearch {
  index: SemanticIndex
  /** Starts embedding memories; returns a stop function. */
  keepUp(onError: (error: unknown) => void): () => Promise<void>
}

/** Undefined without an embedder. */
export function openSemanticSearch(
  { embedder: named }: Config['memory'],
  around: { store: Store; clock: Clock; markSecrets<T>(value: T): T },
): AppSemanticSearch | undefined {
  if (!named) return undefined
  const embedder = makeEmbedder(named, around.clock)
  const index = createSemanticIndex(embedder, around)
  return {
    index,
    keepUp(onError) {
      const stopped = new AbortController()
      // Load vectors now, so that the first query does not wait for them.
      void index.warmUp().catch(onError)
      const embedding = embedMemories(embedder, around, { signal: stopped.signal, onError })
      return () => {
        stopped.abort()
        return embedding
      }
    },
  }
}
