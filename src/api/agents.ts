import type { ListedAgent } from '../domain/profiles/agent-index.ts'

/** Agents that can be given work. `folder` is the caller's working directory. */
export interface AgentApp {
  /** All agents that can be given work here: built-in ones, those of the registry, and those that only have a file. */
  agents(folder: string): Promise<ListedAgent[]>
  /** Throws if an agent does not exist or cannot be given work. */
  checkAgent(folder: string, name: string): Promise<void>
}
