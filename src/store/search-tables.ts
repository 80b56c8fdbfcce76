import type { Generated } from 'kysely'
import type { DocumentKind } from '../domain/search.ts'

/** Rows of the search index of turns, results and files. */
export interface SearchTables {
  search_documents: {
    id: Generated<number>
    kind: DocumentKind
    /** Id of the turn, number of the result, or absolute path of the file. */
    ref: string
    /** The run whose turn or result it is; null for files. */
    run_id: string | null
    session_id: string | null
    /** Whose it is; null for the owner's. */
    principal: string | null
    at: number
    /** Whether its words are there. */
    indexed: Generated<number>
  }
  search_words: {
    word: string
    document_id: number
    /** Place of the document's kind in `documentKinds`: a number takes less room. */
    kind: number
    principal: string | null
  }
  search_files: {
    id: Generated<number>
    path: string
    /** A session's folder above it. */
    folder: string
    /** -1 while it was not read whole. */
    size: number
    changed_at: number
    hash: string
    /** When the file is compared with its passages next. */
    look_at: number
  }
  search_passages: {
    document_id: number
    file_id: number
    line: number
    heading: string | null
    text: string
    digest: string
  }
}
