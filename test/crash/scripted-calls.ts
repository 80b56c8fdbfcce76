import type { Config } from '../../src/config/config.ts'
import type { ProviderAnswer, ProviderRequest, WrittenRule } from '../../src/testing.ts'

/** A reply with these calls, once. */
export function callsOnce(when: string, tools: string[]): WrittenRule {
  return { when, after: 'user', answer: { calls: tools.map((name, at) => call(name, at + 1)) } }
}

/** A reply that starts an agent for each task. */
export function spawns(when: string, tasks: string[], more: object = {}): WrittenRule {
  const calls = tasks.map((task, at) => ({ ...call('sessions_spawn', at + 1), input: { task, ...more } }))
  return { when, after: 'user', answer: { calls } }
}

/** Starts the plan that it was told of: PostgreSQL skips the numbers of what a crash undid. */
export function startsPlan({ messages }: ProviderRequest): ProviderAnswer | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'user' || !last.content.includes('all started agents')) return undefined
  const told = messages.findLast(({ content }) => content.includes('[plan:'))?.content ?? ''
  const input = { project_id: Number(/\[plan:(\d+),/.exec(told)?.[1]) }
  return { calls: [{ ...call('run_project'), input }, call('wait', 2)] }
}

/** A call that starts an agent with a skill. */
export function spawnsAgent(task: string, skill: string) {
  return { ...call('spawn_agent'), input: { task, skill } }
}

/** A call without input. */
export function call(name: string, number = 1) {
  return { id: `c${number}`, name, input: {} }
}

/** Allows so many children of one agent. */
export function withChildren(most: number): (usual: Config) => Config {
  return (usual) => ({
    ...usual,
    tools: { ...usual.tools, subagents: { ...usual.tools.subagents, maxChildrenPerAgent: most, maxPerTurn: most } },
  })
}
