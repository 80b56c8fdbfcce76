/** A part of a text: words, or the name of a thing with its page. */
interface TextPart {
  text: string
  href?: string
}

const referencePattern =
  /(?<![\w/.:-])(turn|run|task|plan|result|memory|approval):([0-9a-z]{3,20}|\d{1,9})(?![\w-])|\[agent_result:(\d+)\]/g

/** Splits a text at the references in it: `run:2ayxt1` becomes a link to the run. */
export function splitReferences(text: string): TextPart[] {
  const parts: TextPart[] = []
  let from = 0
  for (const match of text.matchAll(referencePattern)) {
    const [whole, kind, id, result] = match
    const href = result === undefined ? pageOf(`${kind}:${id}`) : pageOf(`result:${result}`)
    if (href === undefined) continue
    if (match.index > from) parts.push({ text: text.slice(from, match.index) })
    parts.push({ text: whole, href })
    from = match.index + whole.length
  }
  if (from < text.length) parts.push({ text: text.slice(from) })
  return parts
}

/** Page of a reference; undefined if it has none. */
export function pageOf(reference: string): string | undefined {
  const colon = reference.indexOf(':')
  const [kind, id] = [reference.slice(0, colon), reference.slice(colon + 1)]
  if (id === '') return undefined
  const path = encodeURIComponent(id)
  switch (kind) {
    case 'turn':
      return `/t/${path}`
    case 'run':
      return `/runs/${path}`
    case 'plan':
      return /^\d+$/.test(id) ? `/plans/${path}` : undefined
    case 'task':
      return /^\d+$/.test(id) ? `/tasks/${path}` : undefined
    case 'approval':
      return /^\d+$/.test(id) ? `/needs/${path}` : undefined
    case 'memory':
      return /^\d+$/.test(id) ? `/memory/${path}` : undefined
    case 'session':
      return `/s/${path}`
    case 'result':
    case 'narrative':
    case 'file':
      return `/why/${encodeURIComponent(reference)}`
    default:
      return undefined
  }
}
