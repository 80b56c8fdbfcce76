import { type TurnText, turnText } from '../../../domain/text/turn-text.ts'
import type { Reading } from '../../store.ts'
import type { SearchDocument } from './documents.ts'

/** The text of a document as it is stored now. */
export type DocumentText = { kind: 'turn'; text: TurnText } | { kind: 'result'; text: string } | IndexedPassage

/** A passage of a file that a run wrote. */
interface IndexedPassage {
  kind: 'file'
  fileId: number
  line: number
  heading: string | null
  text: string
}

/** Texts of these documents, by their numbers; one whose text is gone is left out. */
export async function documentTexts(
  rows: Reading,
  documents: readonly SearchDocument[],
): Promise<Map<number, DocumentText>> {
  const byKind = Map.groupBy(documents, ({ kind }) => kind)
  const texts = new Map<number, DocumentText>()
  const turns = byKind.get('turn') ?? []
  const turnTexts = await turnTextsOf(
    rows,
    turns.map(({ ref }) => ref),
  )
  for (const { id, ref } of turns) {
    const text = turnTexts.get(ref)
    if (text) texts.set(id, { kind: 'turn', text })
  }
  const results = byKind.get('result') ?? []
  const outputs = await outputsOf(
    rows,
    results.map(({ ref }) => Number(ref)),
  )
  for (const { id, ref } of results) {
    const text = outputs.get(Number(ref))
    if (text !== undefined) texts.set(id, { kind: 'result', text })
  }
  const passages = await indexedPassages(
    rows,
    (byKind.get('file') ?? []).map(({ id }) => id),
  )
  for (const [id, passage] of passages) texts.set(id, passage)
  return texts
}

async function turnTextsOf(rows: Reading, ids: readonly string[]): Promise<Map<string, TurnText>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(
    rows.build
      .selectFrom('turns')
      .select(['id', 'query_messages_json', 'response_message_json'])
      .where('id', 'in', ids),
  )
  return new Map(
    found.map((row) => [row.id, turnText(JSON.parse(row.query_messages_json), JSON.parse(row.response_message_json))]),
  )
}

async function outputsOf(rows: Reading, ids: readonly number[]): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(rows.build.selectFrom('agent_results').select(['id', 'output']).where('id', 'in', ids))
  return new Map(found.map(({ id, output }) => [id, output]))
}

async function indexedPassages(rows: Reading, ids: readonly number[]): Promise<Map<number, IndexedPassage>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(rows.build.selectFrom('search_passages').selectAll().where('document_id', 'in', ids))
  return new Map(
    found.map(({ document_id, file_id, line, heading, text }) => [
      document_id,
      { kind: 'file', fileId: file_id, line, heading, text },
    ]),
  )
}
