import { type Agent, type BuiltInAgent, builtInAgents, isLive } from '../domain/agent.ts'
import type { Run } from '../domain/run.ts'
import { delegatingTools, neverForAgents } from '../domain/tool-names.ts'
import type { Engine } from './world.ts'

/** The one nobody speaks to: it tells where a talk stands, after its turns. */
export const narratorName = 'narrator'

/** Who a run is. A worker is made of one file; `gone` when that file is not there any more. */
export type Role =
  | { kind: BuiltInAgent | typeof narratorName }
  | { kind: 'worker'; agent: Agent }
  | { kind: 'gone'; name: string }

/** What the coordinator has besides delegating: it looks at plans and results, and keeps what is worth knowing. */
const coordinating: readonly string[] = [
  ...delegatingTools,
  ...['project_status', 'read_result', 'memory_store', 'memory_query'],
  ...['memory_update', 'memory_reinforce', 'memory_demote', 'narrative_update', 'narrative_search'],
]

/** What somebody who does everything alone has no use for: plans, and second names for the same tools. */
const notAlone: readonly string[] = [
  ...delegatingTools,
  ...['project_status', 'plan_tasks', 'memory_store', 'memory_query'],
]

/**
 * Everybody has this one: a brief or an answer that is too long is cut, with a pointer to the rest. It shows nothing but
 * what its run or its requester was given.
 */
export const readsOn = 'read_result'

/** The one who runs a run, found anew at each claim: files change. */
export function roleOf({ agents, defaultAgent }: Engine, { agent }: Pick<Run, 'agent'>, folder: string): Role {
  const name = agent ?? defaultAgent
  if (isBuiltIn(name) || name === narratorName) return { kind: name }
  const found = agents.find(name, folder)
  return found && isLive(found) ? { kind: 'worker', agent: found } : { kind: 'gone', name }
}

/** Whether it is work that nobody asked for: it counts as nobody's, and nobody waits for it. */
export function isBackground({ agent }: Pick<Run, 'agent'>): boolean {
  return agent === narratorName
}

export function isBuiltIn(name: string): name is BuiltInAgent {
  return builtInAgents.some((each) => each.name === name)
}

/** Everything that a role has of the tools there are, before anybody's policy narrows it. */
export function toolsOf(role: Role, known: readonly string[]): string[] {
  switch (role.kind) {
    case 'coordinator':
      return known.filter((name) => coordinating.includes(name))
    case 'general':
      return known.filter((name) => !notAlone.includes(name))
    case 'worker':
      return known.filter(
        (name) => name === readsOn || (role.agent.tools.includes(name) && !neverForAgents.includes(name)),
      )
    case 'narrator':
    case 'gone':
      return []
  }
}
