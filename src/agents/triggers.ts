/** Triggers of an agent: as listed, else sentences of the description that say when to use it. */
export function triggersOf(fields: ReadonlyMap<string, unknown>, description: string): string[] {
  const listed = textsIn(fields.get('triggers'))
  if (listed.length > 0) return listed
  const when = textsIn(fields.get('when_to_use') ?? fields.get('when-to-use'))
  if (when.length > 0) return when
  return description
    .split(/(?<=[.!?])\s+/)
    .filter((sentence) => /^(?:use|when|invoke|call|proactively|must be used)\b/i.test(sentence))
    .map((sentence) => sentence.replace(/[.!?]$/, ''))
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const text = value.replaceAll(/\s+/g, ' ').trim()
    // A list written as one text.
    const parts = text.length > 0 && !/[.!?]/.test(text) ? text.split(/\s*[,;]\s*/) : [text]
    return parts.filter((part) => part !== '')
  }
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)]
  if (Array.isArray(value)) return value.flatMap((each) => (typeof each === 'string' ? [each.trim()] : textsIn(each)))
  if (typeof value !== 'object' || value === null) return []
  // { pattern: "…" } or { keywords: [a, b], threshold: 0.7 }: all texts in it, under any key.
  return Object.values(value).filter(isWordy).flatMap(textsIn)
}

function isWordy(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'object'
}
