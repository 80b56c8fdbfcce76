import type { Clock } from '../domain/clock.ts'
import type { FileSearch } from '../domain/memory-views.ts'
import type { Store } from '../store/store.ts'
import type { FileIndex } from './index-files.ts'
import { passageFound, recallPassages } from './recall-passages.ts'

/** Finds what the owner wrote into the home, also if that was a moment ago. */
export function fileSearch({ store, clock }: { store: Store; clock: Clock }, index: FileIndex): FileSearch {
  return {
    async searchFiles(question, { limit }) {
      await index.lookBriefly()
      const found = await store.read((rows) => recallPassages(rows, question, clock.now(), limit))
      return found.map(passageFound)
    },
  }
}

/** Where files are not to be looked at. */
export const noFiles: FileSearch = { searchFiles: async () => [] }
