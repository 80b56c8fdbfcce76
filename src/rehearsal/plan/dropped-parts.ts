const drops =
  /\b(?:drop|leave out|without|omit|skip)\s+(?:the\s+)?(?:parts?\s+|tasks?\s+)?(.+?)(?:,?\s+please)?\s*[.!]?$/i

/** Names or numbers of the parts that the user wants to drop; empty if the text is about something else. */
export function parseDroppedParts(words: string): string[] {
  const found = drops.exec(words.trim())?.[1]
  if (found === undefined) return []
  return found.split(/\s*,\s*|\s+and\s+/).flatMap((each) => {
    const name = each.replace(/^(["'`])(.*)\1$/, '$2').trim()
    return name === '' ? [] : [name]
  })
}
