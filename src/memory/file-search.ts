import type { FileSearch } from '../api/views/memory.ts'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../store/store.ts'
import type { FileIndex } from './index-files.ts'
import { passageFound, recallPassages } from './recall-passages.ts'

/** Searches the user's files in the home, recently written ones included; values of secrets are marked. */
export function fileSearch(
  { store, clock, markSecrets = (value) => value }: { store: Store; clock: Clock; markSecrets?<T>(value: T): T },
  index: FileIndex,
): FileSearch {
  return {
    async searchFiles(question, { limit }) {
      await index.lookBriefly()
      const found = await store.read((rows) =>
        recallPassages(rows, question, { home: index.home, now: clock.now(), limit }),
      )
      return markSecrets(found.map(passageFound))
    },
  }
}

/** File search that is turned off. */
export const noFiles: FileSearch = { searchFiles: async () => [] }
