import { type Agent, type BuiltInAgent, builtInAgents, isLive } from '../../domain/agent.ts'
import type { Run } from '../../domain/run.ts'
import { delegatingTools, forbiddenForAgents } from '../../domain/tools/tool-names.ts'
import type { Engine } from '../runtime.ts'

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
  ...['project_status', 'read_result', 'memory_store', 'memory_query'],
  ...['memory_update', 'memory_reinforce', 'memory_demote', 'memory_trust', 'narrative_update', 'narrative_search'],
]

/** Tools that `general`, which works alone, does not get: plans, and aliases of other tools. */
const notForGeneral: readonly string[] = [
  ...delegatingTools,
  ...['project_status', 'plan_tasks', 'memory_store', 'memory_query'],
]

/**
 * Every worker has this tool: a brief or answer that is too long is cut, with a pointer to the rest. It shows only what its
 * run or its requester was given.
 */
export const readResultTool = 'read_result'

/** Role of a run, looked up again at each claim because agent files change. */
export function roleOf({ agents, defaultAgent }: Engine, { agent }: Pick<Run, 'agent'>, folder: string): AgentRole {
  const name = agent ?? defaultAgent
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

/** Tools of a role, before configuration, persona and parent narrow them. */
export function toolsOf(role: AgentRole, known: readonly string[]): string[] {
  switch (role.kind) {
    case 'coordinator':
      return known.filter((name) => coordinatorTools.includes(name))
    case 'general':
      return known.filter((name) => !notForGeneral.includes(name))
    case 'worker':
      return known.filter(
        (name) => name === readResultTool || (role.agent.tools.includes(name) && !forbiddenForAgents.includes(name)),
      )
    case 'narrator':
    case 'gone':
      return []
  }
}
