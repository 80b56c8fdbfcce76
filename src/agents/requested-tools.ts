import { canonicalToolName } from '../domain/tools/tool-names.ts'

/** A tool as an agent file requests it. */
export interface RequestedTool {
  spelling: string
  /** Text in parentheses after the name. */
  limit?: string
  grant: 'allow' | 'ask' | 'deny'
}

/** Tools in a frontmatter value of any form: a text, a list, a list of objects, a map. */
export function requestedTools(value: unknown): RequestedTool[] {
  if (typeof value === 'string') return piecesOf(value).map((piece) => toRequestedTool(piece))
  if (Array.isArray(value)) return value.flatMap(toolsInItem)
  return isRecord(value) ? toolsInMap(value) : []
}

function toolsInItem(item: unknown): RequestedTool[] {
  if (typeof item === 'string') return requestedTools(item)
  if (!isRecord(item)) return []
  // Rules such as { tool: bash, action: ask } and descriptions such as { name: read, description: … }.
  const name = item['name'] ?? item['tool'] ?? item['permission']
  if (typeof name !== 'string') return toolsInMap(item)
  const pattern = item['pattern']
  const tool = toRequestedTool(name, item['action'] ?? item['grant'] ?? true)
  return [typeof pattern === 'string' && tool.limit === undefined ? { ...tool, limit: pattern } : tool]
}

function toolsInMap(map: Record<string, unknown>): RequestedTool[] {
  return Object.entries(map).map(([name, value]) =>
    // A map of patterns: the tool is granted with limits.
    isRecord(value)
      ? { ...toRequestedTool(name, true), limit: Object.keys(value).join(', ') || '*' }
      : toRequestedTool(name, value ?? true),
  )
}

function toRequestedTool(piece: string, value: unknown = true): RequestedTool {
  const [, spelling = piece, limit] = /^([^(]*)\(([\s\S]*?)\)?$/.exec(piece) ?? []
  const grant = ['deny', 'false', 'no', 'off', '0'].includes(String(value)) ? 'deny' : value === 'ask' ? 'ask' : 'allow'
  return { spelling: spelling.trim(), grant, ...(limit !== undefined && { limit }) }
}

/** Splits at commas and spaces outside parentheses; a known name with a space stays whole. */
function piecesOf(text: string): string[] {
  const byComma = splitOutside(text.replace(/^\[(.*)\]$/s, '$1'), /,/)
  return byComma
    .flatMap((piece) => (canonicalToolName(piece) === undefined ? splitOutside(piece, /\s/) : [piece]))
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
