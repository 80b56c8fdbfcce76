import type { Ceiling } from '../../domain/access/ceiling.ts'
import { type Agent, type BuiltInAgent, builtInAgents, isLive } from '../../domain/agent.ts'
import type { Run, RunError } from '../../domain/run.ts'
import { delegateTool, delegatingTools, forbiddenForAgents, subagentTools } from '../../domain/tools/tool-names.ts'

/** Background agent that summarizes a session after its turns; it cannot be addressed. */
export const narratorName = 'narrator'

/** Role of a run. An `agent` comes from an agent file, from the registry, or from both; `gone` when it cannot work. */
export type AgentRole =
  | { kind: BuiltInAgent | typeof narratorName }
  | { kind: 'agent'; agent: WorkingAgent }
  | { kind: 'gone'; name: string; error: RunError }

/** Instructions, tools and model of an agent. */
export interface WorkingAgent extends Pick<Agent, 'name' | 'tools' | 'ask' | 'model' | 'body'> {
  /** Agent files that were forwarded to it: it has their instructions. */
  skills: readonly Pick<Agent, 'name' | 'body'>[]
}

/** Settings of an agent from the registry and its profile. */
interface RegisteredAgent {
  /** Take the place of those of its file. */
  instructions?: string | undefined
  /** Names of the agent files that are forwarded to it. */
  skills: readonly string[]
}

/** Tools of the coordinator: delegating, reading plans and results, memory. */
const coordinatorTools: readonly string[] = [
  ...[...delegatingTools, delegateTool],
  ...['project_status', 'read_result', 'memory_store', 'memory_query', 'cron'],
  ...['memory_update', 'memory_reinforce', 'memory_demote', 'memory_trust', 'narrative_update', 'narrative_search'],
]

/**
 * Every agent has this tool: a brief or answer that is too long is cut, with a pointer to the rest. It shows only what its
 * run or its requester was given.
 */
export const readResultTool = 'read_result'

/** Tools of `general`, which works alone. A new tool is added here on purpose, or it does not have it. */
const generalTools: readonly string[] = [
  ...['read_file', 'list_dir', 'resolve_path', 'search_files', 'write_file', 'edit_file', 'exec', 'web_fetch'],
  ...[...subagentTools, delegateTool],
  ...[readResultTool, 'cron'],
  ...['remember', 'recall', 'memory_update', 'memory_reinforce', 'memory_demote'],
  ...['narrative_update', 'narrative_search'],
]

/** Role of an agent. Reads its file: once per claim, since files change. */
export function roleOf(
  agents: { find(name: string, folder: string): Agent | undefined },
  name: string,
  folder: string,
  registered?: RegisteredAgent,
): AgentRole {
  if (isBuiltIn(name) || name === narratorName) return { kind: name }
  const file = agents.find(name, folder)
  if (file ? !isLive(file) : !registered) return { kind: 'gone', name, error: agentGone(name) }
  const skills = (registered?.skills ?? []).flatMap((skill) => agents.find(skill, folder) ?? []).filter(isLive)
  const { instructions = file?.body ?? '' } = registered ?? {}
  // Without a file it works with what its skills bring along; a file is the most that it has.
  const own = file ?? {
    tools: [...new Set(skills.flatMap(({ tools }) => tools))],
    ask: [...new Set(skills.flatMap(({ ask }) => ask))],
    model: null,
  }
  return {
    kind: 'agent',
    agent: { name, tools: own.tools, ask: own.ask, model: own.model, body: instructions, skills },
  }
}

function agentGone(name: string): RunError {
  return {
    code: 'agent_gone',
    message: `there is no agent "${name}"`,
    remedy: 'heddle agents lists them: bring it back, or use another',
  }
}

/** Those of the agents that a run with this ceiling may start. */
export function agentsWithin<T extends Pick<Agent, 'name'>>(
  agents: readonly T[],
  { skills }: Pick<Ceiling, 'skills'>,
): readonly T[] {
  return skills ? agents.filter(({ name }) => skills.includes(name)) : agents
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
    case 'agent':
      return known.filter(
        (name) => name === readResultTool || (role.agent.tools.includes(name) && !forbiddenForAgents.includes(name)),
      )
    case 'narrator':
    case 'gone':
      return []
  }
}
