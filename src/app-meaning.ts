import { makeEmbedder } from './app-models.ts'
import type { Config } from './config/config.ts'
import type { Clock } from './domain/clock.ts'
import { embedMemories } from './memory/embed-memories.ts'
import { type Meaning, meaningBy } from './memory/meaning.ts'
import type { Store } from './store/store.ts'

/** What words mean to the owner's embedder. */
export interface AppMeaning {
  meaning: Meaning
  /** Begins to give memories their vectors; what it answers ends that. */
  keepUp(onTrouble: (error: unknown) => void): () => Promise<void>
}

/** Nothing where the owner has no embedder. */
export function openMeaning(
  { embedder: named }: Config['memory'],
  around: { store: Store; clock: Clock },
): AppMeaning | undefined {
  if (!named) return undefined
  const embedder = makeEmbedder(named, around.clock)
  const meaning = meaningBy(embedder, around)
  return {
    meaning,
    keepUp(onTrouble) {
      const stopped = new AbortController()
      // Whoever asks first shall not wait for what can be read now.
      void meaning.warmUp().catch(onTrouble)
      const embedding = embedMemories(embedder, around, { signal: stopped.signal, onTrouble })
      return () => {
        stopped.abort()
        return embedding
      }
    },
  }
}
