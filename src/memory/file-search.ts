import type { FileSearch } from '../api/views/memory.ts'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../store/store.ts'
import type { FileIndex } from './index-files.ts'
import { passageFound, recallPassages } from './recall-passages.ts'

/** Searches the user's files in the home, recently written ones included. */
export function fileSearch({ store, clock }: { store: Store; clock: Clock }, index: FileIndex): FileSearch {
  return {
    async searchFiles(question, { limit }) {
      await index.lookBriefly()
      const found = await store.read((rows) =>
        recallPassages(rows, question, { home: index.home, now: clock.now(), limit }),
      )
      return found.map(passageFound)
    },
  }
}

/** File search that is turned off. */
export const noFiles: FileSearch = { searchFiles: async () => [] }
