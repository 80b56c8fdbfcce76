const drops =
  /\b(?:drop|leave out|without|omit|skip)\s+(?:the\s+)?(?:parts?\s+|tasks?\s+)?(.+?)(?:,?\s+please)?\s*[.!]?$/i

/** The parts that somebody wants left out, in their words: names or numbers. None when they say something else. */
export function droppedIn(words: string): string[] {
  const found = drops.exec(words.trim())?.[1]
  if (found === undefined) return []
  return found.split(/\s*,\s*|\s+and\s+/).flatMap((each) => {
    const name = each.replace(/^(["'`])(.*)\1$/, '$2').trim()
    return name === '' ? [] : [name]
  })
}
