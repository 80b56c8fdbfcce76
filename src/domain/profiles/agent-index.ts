import type { Agent } from '../agent.ts'
import type { AgentEntry } from './registry.ts'

/** An agent as models and people are shown it: nothing of its profile. */
export interface ListedAgent {
  /** Without the `@`. */
  name: string
  description: string
  tags: readonly string[]
}

const maxDescription = 300

/**
 * All agents in one namespace: those of the registry in its order, then those that only have a file. What an agent is for is
 * what its file says, since that is the worker; files that are shipped leave it to the registry.
 */
export function listAgents(
  entries: readonly AgentEntry[],
  files: readonly Pick<Agent, 'name' | 'description' | 'source'>[],
): ListedAgent[] {
  const registered = new Set(entries.map(({ agentId }) => agentId.slice(1)))
  const own = new Map(files.flatMap((file) => (file.source === 'built-in' ? [] : [[file.name, file.description]])))
  return [
    ...entries.map(({ agentId, description, tags }) => {
      const name = agentId.slice(1)
      return { name, description: own.get(name) ?? description, tags }
    }),
    ...files.flatMap(({ name, description }) => (registered.has(name) ? [] : [{ name, description, tags: [] }])),
  ]
}

/** One line of a list. Whatever a description says, it stays within its line. */
export function agentLine({ name, description, tags }: ListedAgent): string {
  const labels = tags.length === 0 ? '' : ` [${tags.map(oneLine).join(', ')}]`
  return `- @${name}: ${oneLine(description)}${labels}`
}

function oneLine(text: string): string {
  const plain = text.toWellFormed().normalize('NFKC')
  return plain
    .replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu, ' ')
    .trim()
    .slice(0, maxDescription)
    .toWellFormed()
}
