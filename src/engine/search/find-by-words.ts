import { isAbsolute, relative } from 'node:path'
import type { FoundText, SearchPage, SearchQuery } from '../../api/search.ts'
import { checkLimit, cursorFrom, positionOfCursor } from '../../api/views/page.ts'
import type { DocumentKind } from '../../domain/search.ts'
import { excerptOf } from '../../domain/text/excerpt.ts'
import { passageLine } from '../../domain/text/passage.ts'
import { searchTerms } from '../../domain/text/words.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { SearchHit, SearchTerm } from '../../store/knowledge/word-search.ts'
import { type DocumentScope, newestDocument, searchDocuments } from '../../store/rows/search/document-search.ts'
import { type DocumentText, documentTexts } from '../../store/rows/search/document-texts.ts'
import { countUnindexed, documentsOf, type SearchDocument } from '../../store/rows/search/documents.ts'
import { writtenFilesOf } from '../../store/rows/search/written-files.ts'
import { sessionPlaces } from '../../store/rows/sessions.ts'
import type { Reading } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { resolveSession } from '../turns/route.ts'
import { isStale } from './index-files.ts'
import type { SearchIndex } from './search-index.ts'

const defaultLimit = 20
/** Characters of a query that are read, and words of it that are searched. */
const maxQuery = 10_000
const maxWords = 32
/** Times that a search is repeated since files among the hits have changed. */
const maxRefreshes = 2

/** Context of a search. */
export interface SearchContext extends Pick<Runtime, 'store'> {
  protect: ProtectedPlaces
  index: SearchIndex
  /** Redacts the secrets of the configuration. */
  hide(text: string): string
}

/** What the caller may find, and whether it is told of what is not indexed yet. */
type Access = Pick<DocumentScope, 'principal' | 'filesOnlyOf'> & { isOwner: boolean }

/** Finds turns, results and passages of files by words. What is new is indexed first. */
export async function findByWords(
  context: SearchContext,
  folder: string,
  { query, session, kind, after, limit = defaultLimit }: SearchQuery,
  { isOwner, ...access }: Access,
): Promise<SearchPage> {
  const { store, index } = context
  checkLimit(limit)
  const start = after === undefined ? undefined : positionIn(after)
  const terms = searchTerms(query.slice(0, maxQuery)).slice(0, maxWords)
  const sessionId = session === undefined ? undefined : (await sessionOf(context, session, folder)).id
  if (start === undefined) await index.catchUp()
  const narrowed = { ...access, ...(sessionId !== undefined && { sessionId }), ...(kind !== undefined && { kind }) }
  const from = start?.offset ?? 0
  const look = () =>
    store.read(async (rows) => {
      // Passages that were indexed again are new documents: only a later page leaves those out.
      const newest = start?.newest ?? (await newestDocument(rows))
      return { newest, ...(await hitsOf(rows, terms, { ...narrowed, newest }, { from, limit })) }
    })
  let found = await look()
  for (let round = 0; round < maxRefreshes && (await refreshFiles(context, found.page)); round++) found = await look()
  const unindexed = isOwner ? await store.read(countUnindexed) : 0
  return {
    rows: await store.read((rows) => viewHits(rows, found.page, { folder, hide: context.hide })),
    ...(found.isMore && { next: cursorFrom([from + limit, String(found.newest)]) }),
    ...(unindexed > 0 && { unindexed }),
  }
}

/** A hit with its document and that one's text. */
interface FoundDocument extends SearchHit {
  document: SearchDocument
  text: DocumentText
}

interface HitPage {
  page: FoundDocument[]
  isMore: boolean
}

async function hitsOf(
  rows: Reading,
  terms: readonly SearchTerm[],
  scope: DocumentScope,
  { from, limit }: { from: number; limit: number },
): Promise<HitPage> {
  const hits = await searchDocuments(rows, terms, scope)
  const documents = await documentsOf(
    rows,
    hits.map(({ id }) => id),
  )
  // An agent's answer is its turn's and its result's: the result stands for both.
  const withResult = new Set([...documents.values()].flatMap(({ kind, runId }) => (kind === 'result' ? [runId] : [])))
  const all = hits.flatMap((hit) => {
    const document = documents.get(hit.id)
    if (!document || (document.kind === 'turn' && withResult.has(document.runId))) return []
    return [{ ...hit, document }]
  })
  const page = all.slice(from, from + limit)
  const texts = await documentTexts(
    rows,
    page.map(({ document }) => document),
  )
  return {
    page: page.flatMap((hit) => {
      const text = texts.get(hit.id)
      return text ? [{ ...hit, text }] : []
    }),
    isMore: all.length > from + limit,
  }
}

/** Indexes files among the hits again that have changed on the disk; returns whether there were any. */
async function refreshFiles(
  { store, protect, index }: SearchContext,
  page: readonly FoundDocument[],
): Promise<boolean> {
  const ids = new Set(page.flatMap(({ text }) => (text.kind === 'file' ? [text.fileId] : [])))
  const files = await store.read((rows) => writtenFilesOf(rows, [...ids]))
  const stale = []
  for (const file of files) if (await isStale({ protect }, file)) stale.push(file)
  await index.refresh(stale)
  return stale.length > 0
}

async function viewHits(
  rows: Reading,
  page: readonly FoundDocument[],
  { folder, hide }: { folder: string; hide(text: string): string },
): Promise<FoundText[]> {
  const sessions = await sessionPlaces(
    rows,
    page.flatMap(({ document }) => document.sessionId ?? []),
  )
  return page.map(({ document, text, words, relevance }) => ({
    ref: referenceTo(document, text, folder),
    kind: document.kind,
    ...excerptOf(hide(textToShow(text, words)), words),
    words,
    rank: Number(relevance.toFixed(3)),
    at: new Date(document.at).toISOString(),
    session: sessions.get(document.sessionId ?? '') ?? null,
  }))
}

function referenceTo({ kind, ref }: { kind: DocumentKind; ref: string }, text: DocumentText, folder: string): string {
  if (text.kind !== 'file') return `${kind}:${ref}`
  const inside = relative(folder, ref)
  const path = inside === '' || inside.startsWith('..') || isAbsolute(inside) ? ref : inside
  return `file:${path}:${text.line}`
}

/** The part of a turn that has more of the words: its answer or its question. */
function textToShow(text: DocumentText, words: readonly string[]): string {
  if (text.kind === 'file') return passageLine(text)
  if (text.kind === 'result') return text.text
  const { question, answer } = text.text
  const count = (part: string) => excerptOf(part, words).marks.length
  return count(question) > count(answer) ? question : answer
}

function sessionOf({ store }: SearchContext, name: string, folder: string) {
  return store.read((rows) => resolveSession(rows, name.startsWith('session:') ? name : `session:${name}`, folder))
}

function positionIn(cursor: string): { offset: number; newest: number } {
  const [offset, newest] = positionOfCursor(cursor)
  return { offset: Math.max(0, offset), newest: Number.isSafeInteger(Number(newest)) ? Number(newest) : 0 }
}
