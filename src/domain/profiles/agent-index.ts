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
  const { listed, names } = listEntries(entries)
  const own = new Map(files.flatMap((file) => (file.source === 'built-in' ? [] : [[file.name, file.description]])))
  const isDescribed = [...own.keys()].some((name) => names.has(name))
  const described = (agent: ListedAgent) => ({ ...agent, description: own.get(agent.name) ?? agent.description })
  return [
    ...(isDescribed ? listed.map(described) : listed),
    ...files.flatMap(({ name, description }) => (names.has(name) ? [] : [{ name, description, tags: [] }])),
  ]
}

interface ListedEntries {
  listed: readonly ListedAgent[]
  names: ReadonlySet<string>
}

/** By the entries of one version of the registry, which never change: every prompt lists them. */
const listedEntries = new WeakMap<readonly AgentEntry[], ListedEntries>()

function listEntries(entries: readonly AgentEntry[]): ListedEntries {
  const known = listedEntries.get(entries)
  if (known) return known
  const listed = entries.map(({ agentId, description, tags }) => ({ name: agentId.slice(1), description, tags }))
  const made = { listed, names: new Set(listed.map(({ name }) => name)) }
  listedEntries.set(entries, made)
  return made
}

/** Of agents that are listed again and again: they never change. */
const lines = new WeakMap<ListedAgent, string>()

/** One line of a list. Whatever a description says, it stays within its line. */
export function agentLine(agent: ListedAgent): string {
  const known = lines.get(agent)
  if (known !== undefined) return known
  const { name, description, tags } = agent
  const labels = tags.length === 0 ? '' : ` [${tags.map(plainDescription).join(', ')}]`
  const line = `- @${name}: ${plainDescription(description)}${labels}`
  lines.set(agent, line)
  return line
}

function plainDescription(text: string): string {
  const plain = text.toWellFormed().normalize('NFKC')
  return plain
    .replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu, ' ')
    .trim()
    .slice(0, maxDescription)
    .toWellFormed()
}
