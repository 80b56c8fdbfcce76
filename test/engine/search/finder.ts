import type { SearchPage, SearchQuery } from '../../../src/api/search.ts'
import { nothingProtected, type ProtectedPlaces } from '../../../src/domain/tools/path-handle.ts'
import type { Runtime } from '../../../src/engine/runtime.ts'
import { findByWords } from '../../../src/engine/search/find-by-words.ts'
import { searchIndex } from '../../../src/engine/search/search-index.ts'
import { hasUnindexed } from '../../../src/store/rows/search/documents.ts'

/** Who searches, and what may not be shown. */
interface FinderOptions {
  folder?: string
  principal?: string
  protect?: ProtectedPlaces
  hide?(text: string): string
}

/** Searches as an App does, in a process of its own. */
export function finder({ store, clock }: Pick<Runtime, 'store' | 'clock'>, options: FinderOptions = {}) {
  const { folder = '/work', principal, protect = nothingProtected, hide = (text) => text } = options
  const index = searchIndex({ store, clock, protect })
  const access = { isOwner: principal === undefined, ...(principal !== undefined && { principal }) }
  const pageOf = (query: SearchQuery): Promise<SearchPage> =>
    findByWords({ store, protect, index, hide }, folder, query, access)
  return {
    index,
    pageOf,
    /** Indexes until nothing waits: a search alone stops after a moment. */
    async indexAll(): Promise<void> {
      while (await store.read(hasUnindexed)) await index.catchUp()
    },
    async found(query: string, more: Partial<SearchQuery> = {}): Promise<string[]> {
      const { rows } = await pageOf({ query, ...more })
      return rows.map(({ passage, marks }) => marked(passage, marks))
    },
    async refs(query: string, more: Partial<SearchQuery> = {}): Promise<string[]> {
      return (await pageOf({ query, ...more })).rows.map(({ ref }) => ref)
    },
  }
}

/** A passage with its matching words in brackets. */
export function marked(passage: string, marks: readonly [number, number][]): string {
  return marks.reduceRight(
    (text, [from, to]) => `${text.slice(0, from)}[${text.slice(from, to)}]${text.slice(to)}`,
    passage,
  )
}
