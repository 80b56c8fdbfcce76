import type { AgentEntry } from '../domain/profiles/registry.ts'
import { readAgents } from '../engine/policies/run-policies.ts'
import type { AgentLookup } from '../engine/run/check-input.ts'
import type { AppEngine } from './engine.ts'

export function readEntries({ store, registry }: AppEngine): Promise<readonly AgentEntry[]> {
  return store.read((rows) => readAgents(rows, registry))
}

/** Names of agents with those of the registry; an entry whose file cannot be used stays unusable. */
export function withEntries(files: AgentLookup, entries: readonly AgentEntry[]): AgentLookup {
  if (entries.length === 0) return files
  const names = entries.map(({ agentId }) => agentId.slice(1)).filter((name) => files.unusable(name) === undefined)
  return { names: () => [...new Set([...files.names(), ...names])], unusable: files.unusable }
}
