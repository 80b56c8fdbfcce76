import { type Agent, isLive } from '../domain/agent.ts'
import type { Run } from '../domain/run.ts'
import type { Engine } from './world.ts'

/** The two agents that are there without a file: one delegates and does nothing itself, one does everything itself. */
export const builtInAgents = [
  { name: 'coordinator', description: 'Talks with you, plans and delegates; does nothing itself.' },
  { name: 'general', description: 'Does everything itself, with the tools for files, commands and the web.' },
] as const
export type BuiltInAgent = (typeof builtInAgents)[number]['name']

/** Who a run is. A worker is made of one file; `gone` when that file is not there any more. */
export type Role = { kind: BuiltInAgent } | { kind: 'worker'; agent: Agent } | { kind: 'gone'; name: string }

/** Tools that delegate: they exist for the coordinator, and for nobody else. */
export const delegatingTools = [
  'spawn_agent',
  'run_project',
  'project_status',
  'wait',
  'task_list',
  'task_update',
  'list_agents',
  'read_result',
] as const

/** What somebody who works for others may have besides doing the work: no spawning, no writing of memories. */
const workersMayHave: readonly string[] = ['plan_tasks', 'read_result', 'project_status']

/** What an agent of a file can never have, whatever the file says. */
const neverForWorkers: readonly string[] = [
  ...delegatingTools.filter((name) => !workersMayHave.includes(name)),
  ...['sessions_spawn', 'delegate', 'subagents', 'cron', 'narrative_update', 'remember'],
  ...['memory_store', 'memory_update', 'memory_reinforce', 'memory_demote'],
]

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
      return known.filter((name) => isDelegating(name))
    case 'general':
      return known.filter((name) => !isDelegating(name) && name !== 'plan_tasks')
    case 'worker':
      return known.filter((name) => role.agent.tools.includes(name) && !neverForWorkers.includes(name))
    case 'gone':
      return []
  }
}

function isDelegating(name: string): boolean {
  return delegatingTools.some((each) => each === name)
}
