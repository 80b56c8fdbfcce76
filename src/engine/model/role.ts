import { type Agent, type BuiltInAgent, builtInAgents, isLive } from '../../domain/agent.ts'
import type { Run } from '../../domain/run.ts'
import { delegatingTools, forbiddenForAgents, subagentTools } from '../../domain/tools/tool-names.ts'

/** Background agent that summarizes a session after its turns; it cannot be addressed. */
export const narratorName = 'narrator'

/** Role of a run. A worker comes from one agent file; `gone` when that file no longer exists. */
export type AgentRole =
  | { kind: BuiltInAgent | typeof narratorName }
  | { kind: 'worker'; agent: Agent }
  | { kind: 'gone'; name: string }

/** Tools of the coordinator: delegating, reading plans and results, memory. */
const coordinatorTools: readonly string[] = [
  ...delegatingTools,
  ...['project_status', 'read_result', 'memory_store', 'memory_query', 'cron'],
  ...['memory_update', 'memory_reinforce', 'memory_demote', 'memory_trust', 'narrative_update', 'narrative_search'],
]

/**
 * Every worker has this tool: a brief or answer that is too long is cut, with a pointer to the rest. It shows only what its
 * run or its requester was given.
 */
export const readResultTool = 'read_result'

/** Tools of `general`, which works alone. A new tool is added here on purpose, or it does not have it. */
const generalTools: readonly string[] = [
  ...['read_file', 'list_dir', 'resolve_path', 'search_files', 'write_file', 'edit_file', 'exec', 'web_fetch'],
  ...subagentTools,
  ...[readResultTool, 'cron'],
  ...['remember', 'recall', 'memory_update', 'memory_reinforce', 'memory_demote'],
  ...['narrative_update', 'narrative_search'],
]

/** Role of an agent. Reads its file: once per claim, since files change. */
export function roleOf(
  agents: { find(name: string, folder: string): Agent | undefined },
  name: string,
  folder: string,
): AgentRole {
  if (isBuiltIn(name) || name === narratorName) return { kind: name }
  const found = agents.find(name, folder)
  return found && isLive(found) ? { kind: 'worker', agent: found } : { kind: 'gone', name }
}

/** Whether a run is background work of the runtime: no user asked for it or waits for it. */
export function isBackground({ agent }: Pick<Run, 'agent'>): boolean {
  return agent === narratorName
}

export function isBuiltIn(name: string): name is BuiltInAgent {
  return builtInAgents.some((each) => each.name === name)
}

/** Tools of a role, before its ceiling narrows them. `programTools` are those that the program brings along. */
export function toolsOf(role: AgentRole, known: readonly string[], programTools: readonly string[] = []): string[] {
  switch (role.kind) {
    case 'coordinator':
      return known.filter((name) => coordinatorTools.includes(name))
    case 'general':
      return known.filter((name) => generalTools.includes(name) || programTools.includes(name))
    case 'worker':
      return known.filter(
        (name) => name === readResultTool || (role.agent.tools.includes(name) && !forbiddenForAgents.includes(name)),
      )
    case 'narrator':
    case 'gone':
      return []
  }
}
