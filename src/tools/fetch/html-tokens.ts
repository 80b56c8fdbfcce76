/** A piece of a page: text as it stands there, or a tag. Comments and declarations are left out. */
export type HtmlToken =
  | { kind: 'text'; text: string }
  | { kind: 'start'; name: string; attributes: ReadonlyMap<string, string> }
  | { kind: 'end'; name: string }

/** Elements whose content is text up to their own end tag, whatever it looks like. */
const rawElements = new Set(['script', 'style', 'title', 'textarea', 'iframe', 'noembed', 'noframes', 'xmp'])

/**
 * Takes a page apart in one pass: no place is looked at twice, so that the time grows with the length and with nothing
 * else. What never ends, such as a comment or a tag, takes the rest with it, as in a browser.
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0
  while (at < html.length) {
    const open = nextMarkup(html, at)
    if (open > at) yield { kind: 'text', text: html.slice(at, open) }
    if (open === html.length) return
    const next = html[open + 1]
    if (next === '!' || next === '?') {
      at = afterComment(html, open)
      continue
    }
    const isEnd = next === '/'
    const tag = readTag(html, isEnd ? open + 2 : open + 1)
    at = tag.after
    if (tag.name === '') continue
    yield isEnd ? { kind: 'end', name: tag.name } : { kind: 'start', name: tag.name, attributes: tag.attributes }
    if (isEnd || !rawElements.has(tag.name)) continue
    const end = endOfRaw(html, tag.name, at)
    if (end > at) yield { kind: 'text', text: html.slice(at, end) }
    at = end
  }
}

/** Where the next tag, comment or declaration begins: a `<` alone is text. */
function nextMarkup(html: string, from: number): number {
  for (let at = html.indexOf('<', from); at !== -1; at = html.indexOf('<', at + 1)) {
    const next = html.charCodeAt(at + 1)
    if (isLetter(next) || next === 33 || next === 47 || next === 63) return at
  }
  return html.length
}

function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

function afterComment(html: string, open: number): number {
  const isComment = html.startsWith('<!--', open)
  // `<!-->` and `<!--->` are comments, too.
  const end = isComment ? html.indexOf('-->', open + 2) : html.indexOf('>', open)
  if (end === -1) return html.length
  return end + (isComment ? 3 : 1)
}

const tagName = /[^\s/>]*/y
const attributeName = /[\s/]*([^\s/>=][^\s/>=]*|=[^\s/>=]*)?/y
const attributeValue = /\s*=\s*(?:"([^"]*)("?)|'([^']*)('?)|([^\s>]*))/y

function readTag(html: string, from: number): { name: string; attributes: Map<string, string>; after: number } {
  const [name = ''] = match(tagName, html, from)
  const attributes = new Map<string, string>()
  let at = from + name.length
  while (at < html.length) {
    const [space = '', attribute] = match(attributeName, html, at)
    at += space.length
    if (attribute === undefined) break
    const value = html.charCodeAt(skipSpace(html, at)) === 61 ? match(attributeValue, html, at) : undefined
    at += value?.[0]?.length ?? 0
    const key = attribute.toLowerCase()
    if (!attributes.has(key)) attributes.set(key, value?.[1] ?? value?.[3] ?? value?.[5] ?? '')
  }
  return { name: name.toLowerCase(), attributes, after: at + 1 }
}

function skipSpace(html: string, from: number): number {
  let at = from
  while (at < html.length && html.charCodeAt(at) <= 32) at++
  return at
}

function match(pattern: RegExp, html: string, at: number): (string | undefined)[] {
  pattern.lastIndex = at
  return pattern.exec(html) ?? ['']
}

function endOfRaw(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[\\s/>]`, 'gi')
  end.lastIndex = from
  return end.exec(html)?.index ?? html.length
}
