import { UsageError } from '../domain/errors.ts'
import type { Memory } from '../domain/memory.ts'
import { contentsLike } from '../store/knowledge/memory-import.ts'
import type { Reading } from '../store/store.ts'

type MarkSecrets = <T>(value: T) => T

/** What stands for the value of a secret in all that is shown. */
const marks = /\[secret:[^\]]+\]|\[redacted\]/g

/** Characters of a text between marks that are searched for: SQLite takes no patterns of more than 50,000 bytes. */
const maxSearched = 2000

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
export function withMarkedValues<T extends MemoryWords>(change: T, old: Memory, markSecrets: MarkSecrets): T {
  const { content, tags, keywords } = change
  const unmarked = (word: string, known: readonly string[]) => known.find((each) => markSecrets(each) === word) ?? word
  return {
    ...change,
    ...(content !== undefined && { content: withValues(content, old.content, markSecrets) }),
    ...(tags && { tags: tags.map((tag) => unmarked(tag, old.tags)) }),
    ...(keywords && { keywords: keywords.map((word) => unmarked(word, old.keywords)) }),
  }
}

/** The content of a memory, also a replaced or archived one, that is shown with marks as this; undefined if there is none. */
export async function contentShownAs(
  rows: Reading,
  shown: string,
  markSecrets: MarkSecrets,
): Promise<string | undefined> {
  const [first = '', ...others] = shown.split(marks)
  const last = others.pop()
  if (last === undefined) return undefined
  // With more parts a database may compare for long.
  const longest = others.sort((a, b) => b.length - a.length).slice(0, 1)
  const beginnings = [first, ...longest].map((part) => [...part].slice(0, maxSearched).join(''))
  const end = [...last].slice(-maxSearched).join('')
  return (await contentsLike(rows, [...beginnings, end])).find((each) => markSecrets(each) === shown)
}

function withValues(text: string, old: string, markSecrets: MarkSecrets): string {
  const found = text.match(marks) ?? []
  if (found.length === 0) return text
  const values = valuesIn(old, markSecrets)
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

/** The values that each mark stands for where a text is shown with marks, in order. */
function valuesIn(text: string, markSecrets: MarkSecrets): Map<string, string[]> {
  const shown = markSecrets(text)
  const values = new Map<string, string[]>()
  const between = shown.split(marks)
  let at = between[0]?.length ?? 0
  for (const [number, mark] of (shown.match(marks) ?? []).entries()) {
    const next = between[number + 1] ?? ''
    const isLast = number === between.length - 2
    let end = isLast ? text.length - next.length : text.indexOf(next, at + 1)
    // What follows a value may also be a part of it.
    while (end !== -1 && end < text.length && !isLast && markSecrets(text.slice(at, end)) !== mark)
      end = text.indexOf(next, end + 1)
    if (end === -1) break
    values.set(mark, [...(values.get(mark) ?? []), text.slice(at, end)])
    at = end + next.length
  }
  return values
}
