/** What stands for a secret in a text that is shown, and what the text has there. */
interface SecretMark {
  mark: string
  value: string
}

/** A text in parts, in order; those without a mark are shown as they are. */
export type MarkedText = readonly (string | SecretMark)[]

/** Marks what a pattern finds in a text; no mark is looked into. */
export function markFound(text: MarkedText, pattern: RegExp, mark: string): MarkedText {
  return text.flatMap((part): MarkedText => {
    // Most have none: that is found out sooner.
    if (typeof part !== 'string' || part.search(pattern) === -1) return [part]
    const parts: (string | SecretMark)[] = []
    let end = 0
    for (const { 0: value, index } of part.matchAll(pattern)) {
      if (index > end) parts.push(part.slice(end, index))
      parts.push({ mark, value })
      end = index + value.length
    }
    return end === part.length ? parts : [...parts, part.slice(end)]
  })
}

/** The text with its marks. */
export function shownText(text: MarkedText): string {
  return text.map((part) => (typeof part === 'string' ? part : part.mark)).join('')
}
