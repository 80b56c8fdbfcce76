import {
  isBookkeeping,
  isPromised,
  nearestTool,
  neverForAgents,
  presentTools,
  toolNamed,
} from '../domain/tool-names.ts'
import { type Finding, note, warning } from './finding.ts'
import { isRecord, type Wish, wishesOf } from './tool-wishes.ts'

export interface ToolList {
  tools: string[]
  ask: string[]
  limits: string[]
  findings: Finding[]
}

/** Fields of a head that say what tools an agent has. */
export const toolFields: readonly string[] = ['tools', 'allowed-tools', 'allowed_tools', 'allowedTools']
const denyFields = ['disallowedTools', 'disallowed-tools', 'disallowed_tools']
const permissionFields = ['permission', 'permissions']

/** The tools that a head lists, by our names. No list means no tools. `known` are tools besides ours. */
export function toolList(
  fields: ReadonlyMap<string, unknown>,
  lines: ReadonlyMap<string, number>,
  known: readonly string[] = [],
): ToolList {
  const list = toolFields.find((field) => (fields.get(field) ?? undefined) !== undefined)
  const permission = permissionFields.find((field) => isRecord(fields.get(field)) || Array.isArray(fields.get(field)))
  const from = list ?? permission
  if (from === undefined) {
    const line = toolFields.map((field) => lines.get(field)).find((each) => each !== undefined)
    return { tools: [], ask: [], limits: [], findings: [warning('it lists no tools, so it has none', addTools, line)] }
  }
  const nameOf = (spelling: string) => (known.includes(spelling) ? spelling : toolNamed(spelling))
  const listed = wishesOf(fields.get(from))
  const wanted = listed.filter((wish) => wish.grant !== 'deny')
  const granted = new Set(wanted.flatMap(({ spelling }) => nameOf(spelling) ?? []))
  const ask = new Set<string>()
  for (const wish of [...listed, ...narrowing(fields, list === undefined ? undefined : permission)]) {
    const name = nameOf(wish.spelling)
    if (name === undefined || !granted.has(name)) continue
    // What is denied only in part cannot be enforced either: a person looks at each call.
    if (wish.grant === 'deny' && !isLimited(wish)) granted.delete(name)
    else if (wish.grant !== 'allow' || isLimited(wish)) ask.add(name)
  }
  const kept = [...granted].filter((name) => neverForAgents.includes(name))
  for (const name of kept) granted.delete(name)
  const tools = [...granted]
  const limits = wanted.filter((wish) => isLimited(wish) && nameOf(wish.spelling) !== undefined).map(written)
  const unknown = wanted.filter(({ spelling }) => nameOf(spelling) === undefined).map(({ spelling }) => spelling)
  const line = lines.get(from)
  const findings = [
    ...aboutUnknown([...new Set(unknown)], line),
    ...aboutList(tools, { isEmpty: listed.length > 0 && wanted.length === 0, isDefaults: list === undefined }, line),
    ...aboutLimits(limits, line),
    ...aboutKept(kept, line),
  ]
  return { tools, ask: [...ask].filter((name) => granted.has(name)), limits, findings }
}

/** What takes from a list that stands elsewhere. */
function narrowing(fields: ReadonlyMap<string, unknown>, permission: string | undefined): Wish[] {
  const denied = denyFields.flatMap((field) => wishesOf(fields.get(field)))
  return [
    ...wishesOf(permission === undefined ? undefined : fields.get(permission)),
    ...denied.map((wish): Wish => ({ ...wish, grant: 'deny' })),
  ]
}

function isLimited({ limit }: Wish): boolean {
  return limit !== undefined && limit.trim() !== '*'
}

function written({ spelling, limit }: Wish): string {
  return `${spelling}(${limit})`
}

const addTools = `add a line such as tools: [${presentTools.slice(0, 4).join(', ')}], or tools: [] if that is meant`

function aboutUnknown(spellings: readonly string[], line: number | undefined): Finding[] {
  const [needless, foreign, others]: [string[], string[], string[]] = [[], [], []]
  for (const each of spellings) (isBookkeeping(each) ? needless : /^mcp_/.test(each) ? foreign : others).push(each)
  const findings = others.map((each) => leftOut(each, line))
  if (foreign.length > 0)
    findings.push(
      warning(`tools of MCP servers cannot be used yet: ${foreign.join(', ')}`, 'remove them, or wait', line),
    )
  if (needless.length > 0) findings.push(note(`not needed here and left out: ${needless.join(', ')}`, undefined, line))
  return findings
}

function leftOut(spelling: string, line: number | undefined): Finding {
  if (/[*?]|^all$/i.test(spelling))
    return warning(`${spelling} names no tool: every tool is named by itself`, `as in ${presentTools.join(', ')}`, line)
  const close = nearestTool(spelling)
  const remedy = close ? `did you mean ${close}?` : `there are ${presentTools.join(', ')}`
  return warning(`there is no tool ${spelling}: it was left out`, remedy, line)
}

function aboutList(
  tools: readonly string[],
  { isEmpty, isDefaults }: { isEmpty: boolean; isDefaults: boolean },
  line: number | undefined,
): Finding[] {
  if (isEmpty) return [warning('it lists only tools that it must not have, so it has none', addTools, line)]
  // Where it was written for, what is not named is allowed.
  if (isDefaults && !tools.includes('read_file'))
    return [warning('it has only the tools that its permissions name, and cannot read files', addTools, line)]
  const promised = tools.filter(isPromised)
  if (promised.length === 0) return []
  return [note(`not built yet, given as soon as they are: ${promised.join(', ')}`, undefined, line)]
}

/** Whoever works for others has none of these, by construction. */
function aboutKept(names: readonly string[], line: number | undefined): Finding[] {
  if (names.length === 0) return []
  const message = `an agent starts no others and writes no memories: left out: ${names.join(', ')}`
  return [note(message, 'nothing to do: the coordinator does that', line)]
}

function aboutLimits(limits: readonly string[], line: number | undefined): Finding[] {
  if (limits.length === 0) return []
  const message = `limits are not enforced yet: treated as ask: ${limits.join(', ')}`
  return [note(message, 'nothing to do: it asks before each call of these tools', line)]
}
