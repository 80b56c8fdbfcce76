import { insertNarrative, type Narrative } from '../../src/store/knowledge/narratives.ts'
import type { Store } from '../../src/store/store.ts'

/** Writes a narrative as whoever tells on would; answers its number. */
export function narrate(store: Store, folder: string, told: Partial<Narrative>): Promise<number> {
  const nothing = { topic: null, memoryIds: [], previousId: null, runId: null, turnId: null, createdAt: 1 }
  const label = { integrity: 'trusted' as const, sources: [] }
  const narrative = { summary: 'It goes on.', folder, sessionId: null, ...nothing, label, ...told }
  return store.write('submit', (tx) => insertNarrative(tx, narrative))
}
