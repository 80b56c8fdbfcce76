import {
  availableTools,
  canonicalToolName,
  forbiddenForAgents,
  isBookkeeping,
  nearestTool,
} from '../domain/tools/tool-names.ts'
import { type Finding, noteFinding, warningFinding } from './finding.ts'
import { isRecord, type RequestedTool, requestedTools } from './requested-tools.ts'

interface ToolList {
  tools: string[]
  ask: string[]
  limits: string[]
  findings: Finding[]
}

/** Frontmatter fields that list an agent's tools. */
export const toolFields: readonly string[] = ['tools', 'allowed-tools', 'allowed_tools', 'allowedTools']
const denyFields = ['disallowedTools', 'disallowed-tools', 'disallowed_tools']
const permissionFields = ['permission', 'permissions']

/** Tools that the frontmatter lists, by Heddle's names. No list means no tools. `known` are additional tools. */
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
    return {
      tools: [],
      ask: [],
      limits: [],
      findings: [warningFinding('it lists no tools, so it has none', addTools, line)],
    }
  }
  const nameOf = (spelling: string) => (known.includes(spelling) ? spelling : canonicalToolName(spelling))
  const listed = requestedTools(fields.get(from))
  const notDenied = listed.filter((tool) => tool.grant !== 'deny')
  const granted = new Set(notDenied.flatMap(({ spelling }) => nameOf(spelling) ?? []))
  const ask = new Set<string>()
  for (const tool of [...listed, ...restrictions(fields, list === undefined ? undefined : permission)]) {
    const name = nameOf(tool.spelling)
    if (name === undefined || !granted.has(name)) continue
    // Partial denials cannot be enforced either, so each call needs approval.
    if (tool.grant === 'deny' && !isLimited(tool)) granted.delete(name)
    else if (tool.grant !== 'allow' || isLimited(tool)) ask.add(name)
  }
  const coordinatorTools = [...granted].filter((name) => forbiddenForAgents.includes(name))
  for (const name of coordinatorTools) granted.delete(name)
  const tools = [...granted]
  const limits = notDenied.filter((tool) => isLimited(tool) && nameOf(tool.spelling) !== undefined).map(withLimit)
  const unknown = notDenied.filter(({ spelling }) => nameOf(spelling) === undefined).map(({ spelling }) => spelling)
  const line = lines.get(from)
  const findings = [
    ...aboutUnknown([...new Set(unknown)], line),
    ...aboutList(tools, { isEmpty: listed.length > 0 && notDenied.length === 0, isDefaults: list === undefined }, line),
    ...aboutLimits(limits, line),
    ...aboutCoordinatorTools(coordinatorTools, line),
  ]
  return { tools, ask: [...ask].filter((name) => granted.has(name)), limits, findings }
}

/** Fields that restrict the tool list. */
function restrictions(fields: ReadonlyMap<string, unknown>, permission: string | undefined): RequestedTool[] {
  const denied = denyFields.flatMap((field) => requestedTools(fields.get(field)))
  return [
    ...requestedTools(permission === undefined ? undefined : fields.get(permission)),
    ...denied.map((tool): RequestedTool => ({ ...tool, grant: 'deny' })),
  ]
}

function isLimited({ limit }: RequestedTool): boolean {
  return limit !== undefined && limit.trim() !== '*'
}

function withLimit({ spelling, limit }: RequestedTool): string {
  return `${spelling}(${limit})`
}

const addTools = `add a line such as tools: [${availableTools.slice(0, 4).join(', ')}], or tools: [] if that is meant`

function aboutUnknown(spellings: readonly string[], line: number | undefined): Finding[] {
  const [needless, foreign, others]: [string[], string[], string[]] = [[], [], []]
  for (const each of spellings) (isBookkeeping(each) ? needless : /^mcp_/.test(each) ? foreign : others).push(each)
  const findings = others.map((each) => leftOut(each, line))
  if (foreign.length > 0)
    findings.push(warningFinding(`tools of MCP servers cannot be used yet: ${foreign.join(', ')}`, 'remove them', line))
  if (needless.length > 0)
    findings.push(noteFinding(`not needed here and left out: ${needless.join(', ')}`, undefined, line))
  return findings
}

function leftOut(spelling: string, line: number | undefined): Finding {
  if (/[*?]|^all$/i.test(spelling))
    return warningFinding(
      `${spelling} is not a tool: list each tool by its name`,
      `as in ${availableTools.join(', ')}`,
      line,
    )
  const close = nearestTool(spelling)
  const remedy = close ? `did you mean ${close}?` : `there are ${availableTools.join(', ')}`
  return warningFinding(`there is no tool ${spelling}: it was left out`, remedy, line)
}

function aboutList(
  tools: readonly string[],
  { isEmpty, isDefaults }: { isEmpty: boolean; isDefaults: boolean },
  line: number | undefined,
): Finding[] {
  if (isEmpty) return [warningFinding('it lists only tools that it may not use, so it has none', addTools, line)]
  // In other programs, tools that permissions do not name are allowed.
  if (isDefaults && !tools.includes('read_file'))
    return [warningFinding('it has only the tools that its permissions name, and cannot read files', addTools, line)]
  return []
}

/** Subagents never have these tools. */
function aboutCoordinatorTools(names: readonly string[], line: number | undefined): Finding[] {
  if (names.length === 0) return []
  const message = `agents cannot start others or write memories; left out: ${names.join(', ')}`
  return [noteFinding(message, undefined, line)]
}

function aboutLimits(limits: readonly string[], line: number | undefined): Finding[] {
  if (limits.length === 0) return []
  const message = `limits are not enforced yet: treated as ask: ${limits.join(', ')}`
  return [noteFinding(message, 'nothing to do: it asks before each call of these tools', line)]
}
