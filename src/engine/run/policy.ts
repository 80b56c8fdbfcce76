import { authorize, rankOf } from '../../domain/access/authorize.ts'
import { type Ceiling, intersectCeilings } from '../../domain/access/ceiling.ts'
import type { RunAccess } from '../../domain/access/principal.ts'
import type { Permissions, Persona } from '../../domain/persona.ts'
import type { Run } from '../../domain/run.ts'
import { isAllowed, matchesToolPattern, type NameLists } from '../../domain/tools/permission.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import {
  cronToolName,
  delegateTool,
  delegatingTools,
  isMemoryWriter,
  subagentTools,
} from '../../domain/tools/tool-names.ts'
import { type AgentRole, readResultTool, toolsOf } from '../model/role.ts'

/** The owner's rules about tools and models. */
export interface ToolPolicy extends NameLists {
  /** Tools that ask the user before each call. */
  ask: readonly string[]
  /** Runs at this depth and below start no others with `sessions_spawn`. */
  maxSpawnDepth: number
  /** Tools of agents that `sessions_spawn` starts. */
  subagents: NameLists
  /** Tools that the program brings along besides ours: `general` has them. */
  programTools: readonly string[]
  /** Models that may be used; all if it is left out. */
  models?: readonly string[]
}

/** Limits of a run besides the owner's rules. */
interface RunLimits {
  /** All of these hold: those of its personas, and those that came with its inputs. */
  permissions: readonly Permissions[]
  access: RunAccess
  /** What it was given by the caller that started it, what its profile leaves, and what the registry does. */
  given: readonly Ceiling[]
}

type KnownTools = ReadonlyMap<string, Pick<Tool, 'effect' | 'action'>>
type ClaimableRun = Pick<Run, 'depth' | 'parentRunId' | 'epoch' | 'ceiling' | 'effectiveTools' | 'options' | 'subagent'>

/**
 * The most that a run and everything below it may have: what the owner's rules, its persona, its profile, its principal and
 * its depth leave now, within what it was given and what an earlier claim left.
 */
export function ceilingOf(
  policy: ToolPolicy,
  known: KnownTools,
  run: ClaimableRun,
  { permissions, access, given }: RunLimits,
): Ceiling {
  const isChild = run.depth > 0 || run.parentRunId !== null
  const tools = [...known].flatMap(([name, tool]) =>
    mayUse(access, name, tool) &&
    (run.depth < policy.maxSpawnDepth || !(subagentTools.includes(name) || (isChild && name === delegateTool))) &&
    (run.subagent === null || isAllowed(name, listsFor(name, policy.subagents))) &&
    // Only an agent that talks with the user writes memories and narratives, and makes jobs.
    !(isChild && (isMemoryWriter(name) || name === cronToolName)) &&
    isAllowed(name, listsFor(name, policy)) &&
    permissions.every((each) => isAllowed(name, listsFor(name, each.tools)))
      ? name
      : [],
  )
  const now: Ceiling = {
    tools,
    ...(policy.models && { models: policy.models }),
    // Credentials are the owner's: no command of anyone else sees one.
    ...(!access.isPrivate && { credentials: [] }),
  }
  return intersectCeilings(now, run.ceiling, ...permissions.map(commandCeiling), ...given)
}

function commandCeiling({ sandbox, credentials }: Permissions): Ceiling {
  return { ...(sandbox && { sandbox }), ...(credentials && { credentials }) }
}

/** What a run may delegate: its ceiling, but no more than its own tools if it does the work itself. */
export function ceilingBelow({
  agent,
  ceiling,
  effectiveTools,
}: Pick<Run, 'agent' | 'ceiling' | 'effectiveTools'>): Ceiling {
  return agent === 'general' ? intersectCeilings(ceiling, { tools: effectiveTools }) : ceiling
}

/** Tools of a run: those of its role within its ceiling. A later claim adds none. */
export function effectiveTools(
  { programTools }: Pick<ToolPolicy, 'programTools'>,
  known: KnownTools,
  { epoch, effectiveTools: before }: Pick<Run, 'epoch' | 'effectiveTools'>,
  { role, ceiling }: { role: AgentRole; ceiling: Ceiling },
): string[] {
  const own: Ceiling = { tools: toolsOf(role, [...known.keys()], programTools) }
  return [...(intersectCeilings(own, ceiling, epoch > 0 ? { tools: before } : {}).tools ?? [])]
}

/** Why the user must approve a call of this tool; undefined if it needs no approval. */
export function approvalReason(
  policy: Pick<ToolPolicy, 'ask'>,
  tool: string,
  { role, persona, permissions }: { role: AgentRole; persona: Persona | null; permissions: readonly Permissions[] },
): string | undefined {
  if (matchesToolPattern(tool, policy.ask)) return `${tool} asks first (tools.ask)`
  if (matchesToolPattern(tool, persona?.permissions.tools.ask ?? []))
    return `${tool} asks first for ${persona?.identity.name}`
  if (permissions.some(({ tools }) => matchesToolPattern(tool, tools.ask ?? [])))
    return `${tool} asks first: the permissions of this conversation say so`
  return role.kind === 'agent' && matchesToolPattern(tool, role.agent.ask)
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
  tool: Pick<Tool, 'effect' | 'action'>,
): boolean {
  if (tool.action && !authorize(principal, tool.action)) return false
  if (!isPrivate && tool.action?.startsWith('memory.')) return false
  if (tools !== null) return matchesToolPattern(name, tools)
  const rank = rankOf(principal)
  return rank === 'owner' || rank === 'admin' || (rank === 'operator' && tool.effect === 'pure')
}

/** Tools to which `allow` lists do not apply, only `deny` does: no agent can delegate or be told of results without them. */
const keptByAllow: readonly string[] = [...delegatingTools, readResultTool]

function listsFor(tool: string, { allow, deny }: NameLists): NameLists {
  return { ...(deny && { deny }), ...(allow && !keptByAllow.includes(tool) && { allow }) }
}
