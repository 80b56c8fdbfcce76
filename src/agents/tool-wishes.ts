import { toolNamed } from '../domain/tool-names.ts'

/** A tool as a file asks for it. */
export interface Wish {
  spelling: string
  /** What stands in parentheses behind it. */
  limit?: string
  grant: 'allow' | 'ask' | 'deny'
}

/** The tools in a value of a head, however it lists them: a text, a list, a list of objects, a map. */
export function wishesOf(value: unknown): Wish[] {
  if (typeof value === 'string') return piecesOf(value).map((piece) => wishOf(piece))
  if (Array.isArray(value)) return value.flatMap(itemWishes)
  return isRecord(value) ? mapWishes(value) : []
}

function itemWishes(item: unknown): Wish[] {
  if (typeof item === 'string') return wishesOf(item)
  if (!isRecord(item)) return []
  // Rules such as { tool: bash, action: ask } and descriptions such as { name: read, description: … }.
  const name = item['name'] ?? item['tool'] ?? item['permission']
  if (typeof name !== 'string') return mapWishes(item)
  const pattern = item['pattern']
  const wish = wishOf(name, item['action'] ?? item['grant'] ?? true)
  return [typeof pattern === 'string' && wish.limit === undefined ? { ...wish, limit: pattern } : wish]
}

function mapWishes(map: Record<string, unknown>): Wish[] {
  return Object.entries(map).map(([name, said]) =>
    // A map of patterns: the tool is there, with limits.
    isRecord(said) ? { ...wishOf(name, true), limit: Object.keys(said).join(', ') || '*' } : wishOf(name, said ?? true),
  )
}

function wishOf(piece: string, said: unknown = true): Wish {
  const [, spelling = piece, limit] = /^([^(]*)\(([\s\S]*?)\)?$/.exec(piece) ?? []
  const grant = ['deny', 'false', 'no', 'off', '0'].includes(String(said)) ? 'deny' : said === 'ask' ? 'ask' : 'allow'
  return { spelling: spelling.trim(), grant, ...(limit !== undefined && { limit }) }
}

/** Splits at commas and spaces outside of parentheses; a name with a space in it stays whole where commas separate. */
function piecesOf(text: string): string[] {
  const byComma = splitOutside(text.replace(/^\[(.*)\]$/s, '$1'), /,/)
  return byComma
    .flatMap((piece) => (toolNamed(piece) === undefined ? splitOutside(piece, /\s/) : [piece]))
    .map((piece) => piece.trim().replace(/^(["'`])(.*)\1$/, '$2'))
    .filter((piece) => piece !== '' && piece !== '-')
}

function splitOutside(text: string, at: RegExp): string[] {
  const pieces = ['']
  let depth = 0
  for (const character of text) {
    if (character === '(') depth++
    if (character === ')') depth = Math.max(0, depth - 1)
    if (depth === 0 && at.test(character)) pieces.push('')
    else pieces.push((pieces.pop() ?? '') + character)
  }
  return pieces.filter((piece) => piece.trim() !== '')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
