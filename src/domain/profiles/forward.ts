import type { Ceiling } from '../access/ceiling.ts'
import type { ProfileValue } from './profile.ts'
import type { AgentEntry } from './registry.ts'

/** What can be forwarded to an agent, by name. */
export type ForwardKind = 'skills' | 'mcpServers'

const prefixes: Record<ForwardKind, string> = { skills: 'skill:', mcpServers: 'mcp:' }

/** Names without their prefix: `skill:formatting` and `formatting` are one skill. */
export function bareNames(kind: ForwardKind, names: readonly string[]): string[] {
  const prefix = prefixes[kind]
  return [...new Set(names.map((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name)))]
}

/** The most that a profile lets a run have of skills and MCP servers. */
export function forwardCeilingOfProfile({
  allowedSkills,
  allowedMcpServers,
}: ProfileValue): Pick<Ceiling, ForwardKind> {
  return {
    ...(allowedSkills && { skills: bareNames('skills', allowedSkills) }),
    ...(allowedMcpServers && { mcpServers: bareNames('mcpServers', allowedMcpServers) }),
  }
}

/** The most that the registry lets an agent have: what may be forwarded to it. Without such a list, its defaults. */
export function forwardCeilingOfEntry(entry: AgentEntry): Required<Pick<Ceiling, ForwardKind>> {
  const most = (allowed: readonly string[], defaults: readonly string[]) => (allowed.length > 0 ? allowed : defaults)
  return {
    skills: bareNames('skills', most(entry.allowedForwardSkills, entry.defaultForwardSkills)),
    mcpServers: bareNames('mcpServers', most(entry.allowedMcpServers, entry.defaultMcpServers)),
  }
}

/** What is forwarded to an agent if nothing is asked for. */
export function forwardDefaults(entry: AgentEntry): Record<ForwardKind, string[]> {
  return {
    skills: bareNames('skills', entry.defaultForwardSkills),
    mcpServers: bareNames('mcpServers', entry.defaultMcpServers),
  }
}
