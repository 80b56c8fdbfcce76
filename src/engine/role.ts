import { type Agent, isLive } from '../domain/agent.ts'
import type { Run } from '../domain/run.ts'
import { delegatingTools, neverForAgents } from '../domain/tool-names.ts'
import type { Engine } from './world.ts'

/** The two agents that are there without a file: one delegates and does nothing itself, one does everything itself. */
export const builtInAgents = [
  { name: 'coordinator', description: 'Talks with you, plans and delegates; does nothing itself.' },
  { name: 'general', description: 'Does everything itself, with the tools for files, commands and the web.' },
] as const
export type BuiltInAgent = (typeof builtInAgents)[number]['name']

/** Who a run is. A worker is made of one file; `gone` when that file is not there any more. */
export type Role = { kind: BuiltInAgent } | { kind: 'worker'; agent: Agent } | { kind: 'gone'; name: string }

/** What the coordinator sees of plans and results. */
const lookingTools: readonly string[] = ['project_status', 'read_result']

/** The one who runs a run, found anew at each claim: files change. */
export function roleOf({ agents, defaultAgent }: Engine, { agent }: Pick<Run, 'agent'>, folder: string): Role {
  const name = agent ?? defaultAgent
  if (isBuiltIn(name)) return { kind: name }
  const found = agents.find(name, folder)
  return found && isLive(found) ? { kind: 'worker', agent: found } : { kind: 'gone', name }
}

export function isBuiltIn(name: string): name is BuiltInAgent {
  return builtInAgents.some((each) => each.name === name)
}

/** Everything that a role has of the tools there are, before anybody's policy narrows it. */
export function toolsOf(role: Role, known: readonly string[]): string[] {
  switch (role.kind) {
    case 'coordinator':
      return known.filter((name) => isDelegating(name) || lookingTools.includes(name))
    case 'general':
      return known.filter((name) => !isDelegating(name) && !lookingTools.includes(name) && name !== 'plan_tasks')
    case 'worker':
      return known.filter((name) => role.agent.tools.includes(name) && !neverForAgents.includes(name))
    case 'gone':
      return []
  }
}

function isDelegating(name: string): boolean {
  return delegatingTools.some((each) => each === name)
}
