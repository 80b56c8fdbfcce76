import type { DocumentKind } from '../domain/search.ts'
import type { ListPage, PageOptions } from './views/page.ts'

/** Search in turns, results and files. */
export interface SearchApp {
  /** Turns, results and passages of files that share words with a query, best first; 20 unless told. */
  search(folder: string, query: SearchQuery): Promise<SearchPage>
}

export interface SearchQuery extends PageOptions {
  query: string
  /** Only what was made in this session: a label or `session:LABEL`. */
  session?: string
  kind?: DocumentKind
}

/** A part of what was found; at most 400 are found in all. */
export interface SearchPage extends ListPage<FoundText> {
  /** Turns and results that are not in the index yet, as after an upgrade. Only the owner is told. */
  unindexed?: number
}

/** Something that a search found. */
export interface FoundText {
  /** `turn:ID`, `result:12` or `file:PATH:LINE`. */
  ref: string
  kind: DocumentKind
  /** Where it says so, on one line. */
  passage: string
  /** Matching words in the passage: from and to, in UTF-16 units. */
  marks: [from: number, to: number][]
  /** Words of the query that it contains, as they are compared. */
  words: string[]
  /** Share of the query that it contains, by the weight of the words: 0 to 1. */
  rank: number
  at: string
  /** Null for files that no run wrote as they are now, and for imported turns. */
  session: { label: string; folder: string } | null
}
