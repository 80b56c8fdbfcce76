import type { Tool } from '../../src/domain/tools/tool.ts'
import { planTasks } from '../../src/engine/plans/plan-tasks.ts'
import { projectTools } from '../../src/engine/plans/project-tools.ts'
import { spawnAgent } from '../../src/engine/plans/spawn-agent.ts'
import type { Engine, Limits } from '../../src/engine/runtime.ts'
import { agentNamed } from './test-team.ts'

/** Room for a plan whose tasks are tried again and again. */
export const planLimits: Partial<Limits> = { maxSteps: 150, perRequest: { usd: 5, tokens: 600_000 } }

const teamTools: Record<string, string[]> = { 'project-planner': ['plan_tasks', 'look'], researcher: ['look'] }
const agents = Object.keys(teamTools).map((name) => agentNamed(name, { tools: teamTools[name] ?? [] }))
const index = { find: (name: string) => agents.find((agent) => agent.name === name), list: () => agents }

/** The engine of a process in which a coordinator answers, who has plans made and carried out. */
export function withPlans(engine: Engine): Engine {
  const tools = new Map(engine.tools)
  const planning: Engine = {
    ...engine,
    tools,
    agents: index,
    defaultAgent: 'coordinator',
  }
  const added = [planTasks(planning), spawnAgent(planning), ...projectTools(planning, { plans: 'auto' })] as Tool[]
  for (const tool of added) tools.set(tool.name, tool)
  return planning
}
