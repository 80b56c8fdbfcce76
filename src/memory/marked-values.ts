import { UsageError } from '../domain/errors.ts'
import type { Memory } from '../domain/memory.ts'
import { type MarkedText, shownText } from '../domain/text/marked-text.ts'
import { allContents } from '../store/knowledge/memories.ts'
import type { Reading } from '../store/store.ts'

/** A text as secrets are marked in it, with the values that the marks stand for. */
type MarkedParts = (text: string) => MarkedText

/** What stands for the value of a secret in all that is shown. */
const marks = /\[secret:[^\]]+\]|\[redacted\]/g

/** New words, tags and keywords of a memory. */
interface MemoryWords {
  content?: string
  tags?: string[]
  keywords?: string[]
}

/**
 * A change of a memory by someone who was shown it with marked secrets: the marks in it stand for the values again. Throws if
 * it is not clear for which.
 */
export function withMarkedValues<T extends MemoryWords>(change: T, old: Memory, markedParts: MarkedParts): T {
  const { content, tags, keywords } = change
  const unmarked = (word: string, known: readonly string[]) =>
    known.find((each) => shownText(markedParts(each)) === word) ?? word
  return {
    ...change,
    ...(content !== undefined && { content: withValues(content, markedParts(old.content)) }),
    ...(tags && { tags: tags.map((tag) => unmarked(tag, old.tags)) }),
    ...(keywords && { keywords: keywords.map((word) => unmarked(word, old.keywords)) }),
  }
}

/** A statement as it is stored if a memory, also a replaced or archived one, is shown with marks as this; otherwise the same. */
export async function storedContent(rows: Reading, statement: string, markedParts: MarkedParts): Promise<string> {
  const shown = statement.trim()
  return (await contentsShownAs(rows, [shown], markedParts)).get(shown) ?? statement
}

/** Contents of memories, also of replaced and archived ones, by those of the texts that they are shown as, with marks. */
export async function contentsShownAs(
  rows: Reading,
  texts: readonly string[],
  markedParts: MarkedParts,
): Promise<Map<string, string>> {
  const sought = texts.flatMap((text) => {
    const parts = text.split(marks)
    return parts.length === 1 ? [] : [{ text, beginning: parts[0] ?? '', end: parts.at(-1) ?? '' }]
  })
  const found = new Map<string, string>()
  if (sought.length === 0) return found
  for await (const content of allContents(rows)) {
    const mayBe = ({ beginning, end }: (typeof sought)[0]) => content.startsWith(beginning) && content.endsWith(end)
    if (!sought.some(mayBe)) continue
    const shown = shownText(markedParts(content))
    if (sought.some(({ text }) => text === shown) && !found.has(shown)) found.set(shown, content)
  }
  return found
}

function withValues(text: string, old: MarkedText): string {
  const found = text.match(marks) ?? []
  if (found.length === 0) return text
  const values = valuesIn(old)
  return text.replace(marks, (mark) => {
    const possible = values.get(mark) ?? []
    const [value = mark, other] = new Set(possible)
    if (other === undefined) return value
    // As many as before stand where they stood.
    const next = possible.length === found.filter((each) => each === mark).length ? possible : []
    values.set(mark, [...next.slice(1), ...next.slice(0, 1)])
    if (next[0] !== undefined) return next[0]
    throw new UsageError(
      `${mark} stands for several values in the old text`,
      'keep all of these marks, or write none of them',
      'ambiguous_mark',
    )
  })
}

/** The values that each mark stands for, in order; one that a text really has stands for itself. */
function valuesIn(text: MarkedText): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const part of text)
    for (const { mark, value } of typeof part === 'string' ? marksWrittenIn(part) : [part])
      values.set(mark, [...(values.get(mark) ?? []), value])
  return values
}

function marksWrittenIn(text: string) {
  return (text.match(marks) ?? []).map((mark) => ({ mark, value: mark }))
}
