import { turnWords } from '../../domain/text/turn-text.ts'
import { indexWords } from '../../domain/text/words.ts'
import { type DocumentText, documentTexts } from '../../store/rows/search/document-texts.ts'
import { claimUnindexed, storeWords } from '../../store/rows/search/documents.ts'
import type { Tx } from '../../store/store.ts'

/** Work of one transaction: a few milliseconds, so that a turn's commit does not wait long. */
const maxDocuments = 16
const maxCharacters = 20_000

/**
 * Indexes some of the turns, results and passages that have no words yet, the newest first; returns whether there may be more. What a
 * process leaves behind when it dies is the next one's.
 */
export async function indexBatch(tx: Tx): Promise<boolean> {
  const documents = await claimUnindexed(tx, maxDocuments)
  const texts = await documentTexts(tx, documents)
  let room = maxCharacters
  for (const document of documents) {
    if (room <= 0) return true
    const text = texts.get(document.id)
    room -= lengthOf(text)
    await storeWords(tx, document, documentWords(text))
  }
  return documents.length === maxDocuments
}

function documentWords(text: DocumentText | undefined): Set<string> {
  if (text === undefined) return new Set()
  if (text.kind === 'turn') return turnWords(text.text)
  return indexWords(text.kind === 'file' ? [text.heading ?? '', text.text] : [text.text])
}

function lengthOf(text: DocumentText | undefined): number {
  if (text === undefined) return 0
  return text.kind === 'turn' ? text.text.question.length + text.text.answer.length : text.text.length
}
