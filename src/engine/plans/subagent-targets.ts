import type { Ceiling } from '../../domain/access/ceiling.ts'
import { builtInAgents } from '../../domain/agent.ts'
import type { ThinkingConfig } from '../../domain/message.ts'
import type { ShareMode } from '../../domain/subagent.ts'
import { agentsWithin } from '../model/role.ts'
import type { Engine } from '../runtime.ts'

/** The owner's settings for agents that `sessions_spawn` starts. */
export interface SubagentSettings {
  /** Max sub-agents that work for one session at a time. */
  maxChildren: number
  /** Lists of agents that may be started: one must be in all of them. */
  allowAgents: readonly (readonly string[])[]
  /** Default model of sub-agents whose agent names none. */
  model?: string | undefined
  thinking?: ThinkingConfig['level'] | undefined
  /** A spawn may share less than this. */
  shareMode: ShareMode
}

/** An agent that `sessions_spawn` can start. */
interface SubagentTarget {
  agentId: string
  description: string
  /** Model of its file, else the default for sub-agents; null if neither names one. */
  model: string | null
}

/** The agent that a spawn starts if it names none. */
export const defaultTarget = 'general'

/** All agents that a run with this ceiling could start in a folder, and whether the owner's lists allow each. */
export function subagentTargets(
  { agents }: Pick<Engine, 'agents'>,
  folder: string,
  ceiling: Pick<Ceiling, 'skills'>,
  { allowAgents, model = undefined }: Pick<SubagentSettings, 'allowAgents' | 'model'>,
): (SubagentTarget & { isAllowed: boolean })[] {
  const general = builtInAgents.filter(({ name }) => name === defaultTarget)
  return [...general.map((agent) => ({ ...agent, model: null })), ...agentsWithin(agents.list(folder), ceiling)].map(
    (agent) => ({
      agentId: agent.name,
      description: agent.description,
      model: agent.model ?? model ?? null,
      isAllowed: allowAgents.every((list) =>
        list.some((name) => name === '*' || name.replace(/^@/, '') === agent.name),
      ),
    }),
  )
}
