import { join } from 'node:path'
import type { AgentDirectory } from './agents/agent-directory.ts'
import { type Agents, agentsOf } from './agents/agents.ts'
import type { Config } from './config/config.ts'
import type { Clock } from './domain/clock.ts'
import type { HomePaths } from './home/home.ts'

export { agentName } from './agents/agent-name.ts'
export { agentTemplate } from './agents/agent-template.ts'
export type { Agents } from './agents/agents.ts'

export interface AgentsHere {
  paths: Pick<HomePaths, 'home' | 'skills'>
  config: Pick<Config, 'skills' | 'models'>
  clock: Pick<Clock, 'now'>
  /** Tools besides ours. */
  tools?: readonly string[]
}

/** The agents of a home: the owner's own, those of the directories that the configuration names, and ours. */
export function openAgents({ paths, config, clock, tools = [] }: AgentsHere): Agents {
  const directories: AgentDirectory[] = [
    { path: paths.skills, source: 'home' },
    { path: join(paths.home, 'agents'), source: 'home' },
    ...config.skills.map((path): AgentDirectory => ({ path, source: 'config', mustExist: true })),
    { path: builtIn(), source: 'built-in', mustExist: true },
  ]
  return agentsOf({ directories, trustFile: trustFile(paths), clock, models: Object.keys(config.models), tools })
}

/** Agents of any directories, as if the owner had named them; nothing becomes trusted by that. */
export function agentsIn(directories: readonly string[], { paths, config, clock }: AgentsHere): Agents {
  return agentsOf({
    directories: directories.map((path) => ({ path, source: 'config', mustExist: true })),
    trustFile: trustFile(paths),
    clock,
    models: Object.keys(config.models),
  })
}

function trustFile({ home }: AgentsHere['paths']): string {
  return join(home, 'trusted-agents.json')
}

/** Beside `src` in the sources and beside `dist` in the package. */
function builtIn(): string {
  return join(import.meta.dirname, '../agents')
}
