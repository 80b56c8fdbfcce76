import { authorize, rankOf } from '../../domain/access/authorize.ts'
import type { RunAccess } from '../../domain/access/principal.ts'
import type { Persona } from '../../domain/persona.ts'
import type { Run } from '../../domain/run.ts'
import { isAllowed, matchesToolPattern, type NameLists } from '../../domain/tools/permission.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { isMemoryWriter, subagentTools } from '../../domain/tools/tool-names.ts'
import { type AgentRole, readResultTool, toolsOf } from '../model/role.ts'

/** The owner's rules about tools. */
interface ToolPolicy extends NameLists {
  /** Tools that ask the user before each call. */
  ask: readonly string[]
  /** Runs at this depth and below start no others with `sessions_spawn`. */
  maxSpawnDepth: number
  /** Tools of agents that `sessions_spawn` starts. */
  subagents: NameLists
}

/** A run whose rights are decided: its role, its persona, its principal and the run that started it. */
interface RunRights {
  role: AgentRole
  persona: Persona | null
  access: RunAccess
  parent?: Run
}

type KnownTools = ReadonlyMap<string, Pick<Tool, 'effect' | 'action'>>

/**
 * Tools of a run: the intersection of its role, what its principal may use, what its parent may delegate, and the lists of
 * owner and persona.
 */
export function effectiveTools(
  policy: ToolPolicy,
  known: KnownTools,
  run: Pick<Run, 'depth' | 'parentRunId' | 'lane'>,
  { role, persona, access, parent }: RunRights,
): string[] {
  const isChild = run.depth > 0 || run.parentRunId !== null
  return toolsOf(role, [...known.keys()]).filter(
    (name) =>
      mayUse(access, name, known.get(name)) &&
      (!subagentTools.includes(name) || run.depth < policy.maxSpawnDepth) &&
      // Below the first sub-agent a parent's tools are the limit, which these lists have narrowed already.
      (run.lane !== 'subagents' || isAllowed(name, subagentLists(name, policy.subagents))) &&
      // Children write no memory and no narrative: only an agent that talks with the user does.
      !(isChild && isMemoryWriter(name)) &&
      isAllowed(name, listsFor(role, name, policy)) &&
      isAllowed(name, listsFor(role, name, persona?.permissions.tools ?? {})) &&
      (parent === undefined || mayDelegate(parent, name)),
  )
}

/** Why the user must approve a call of this tool; undefined if it needs no approval. */
export function approvalReason(
  policy: Pick<ToolPolicy, 'ask'>,
  tool: string,
  { role, persona }: Pick<RunRights, 'role' | 'persona'>,
): string | undefined {
  if (matchesToolPattern(tool, policy.ask)) return `${tool} asks first (tools.ask)`
  if (matchesToolPattern(tool, persona?.permissions.tools.ask ?? []))
    return `${tool} asks first for ${persona?.identity.name}`
  return role.kind === 'worker' && matchesToolPattern(tool, role.agent.ask)
    ? `${tool} asks first for @${role.agent.name}: its file limits it`
    : undefined
}

/** Default of `tools.ask`: file writes, and commands if they are not confined to the folder. */
export function defaultAsk({ sandbox, network }: { sandbox: string; network: boolean }): string[] {
  return ['write_file', 'edit_file', ...(sandbox === 'off' || network ? ['exec'] : [])]
}

/** Whether the principal's runs may use a tool: public none, operator pure ones, admin as the owner, or the owner's list. */
function mayUse(
  { principal, tools, isPrivate }: RunAccess,
  name: string,
  tool: Pick<Tool, 'effect' | 'action'> | undefined,
): boolean {
  if (tool?.action && !authorize(principal, tool.action)) return false
  if (!isPrivate && tool?.action?.startsWith('memory.')) return false
  if (tools !== null) return matchesToolPattern(name, tools)
  const rank = rankOf(principal)
  return rank === 'owner' || rank === 'admin' || (rank === 'operator' && tool?.effect === 'pure')
}

/** A sub-agent reads the rest of an answer that was cut, whatever its `allow` list says. */
function subagentLists(tool: string, { allow, deny }: NameLists): NameLists {
  return { ...(deny && { deny }), ...(allow && tool !== readResultTool && { allow }) }
}

/** `allow` lists do not apply to the coordinator and to `read_result`: only `deny` does. */
function listsFor({ kind }: AgentRole, tool: string, { allow, deny }: NameLists): NameLists {
  return { ...(deny && { deny }), ...(allow && kind !== 'coordinator' && tool !== readResultTool && { allow }) }
}

/** A parent may delegate its own tools, or any tool if it has `spawn_agent`. */
function mayDelegate(parent: Run, tool: string): boolean {
  return parent.effectiveTools.includes('spawn_agent') || parent.effectiveTools.includes(tool)
}
