import { knownAgents } from '../../commands/agents.ts'
import type { Client } from '../../gateway/api.ts'

/** Names of the agents that can be addressed, without `@`, for completion: as they were when last read. */
export class KnownAgentNames {
  #names: readonly string[] = []

  get names(): readonly string[] {
    return this.#names
  }

  async read(client: Client, folder: string): Promise<void> {
    this.#names = (await knownAgents({ app: client, folder })).map(({ agentId }) => agentId.slice(1))
  }
}
