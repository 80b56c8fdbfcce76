import type { Agent } from '../domain/agent.ts'

/** Agents that can be given work. `folder` is the caller's working directory. */
export interface AgentApp {
  /** All agents that can be given work here, built-in ones first. */
  agents(folder: string): Promise<Pick<Agent, 'name' | 'description'>[]>
  /** Throws if an agent does not exist or cannot be given work. */
  checkAgent(folder: string, name: string): Promise<void>
}
