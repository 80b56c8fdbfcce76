import type { Ceiling } from '../../domain/access/ceiling.ts'
import { listAgents } from '../../domain/profiles/agent-index.ts'
import type { ProfileValue } from '../../domain/profiles/profile.ts'
import type { Reading } from '../../store/store.ts'
import { agentsWithin } from '../model/role.ts'
import type { Engine } from '../runtime.ts'
import { listProfiles } from './profiles.ts'
import { type KnownRegistry, readAgents } from './run-policies.ts'

/** Names of the agents that a run with this ceiling may start in a folder: all that are registered, and files. */
export async function startableAgents(
  rows: Reading,
  { agents, registry }: Pick<Engine, 'agents' | 'registry'>,
  folder: string,
  ceiling: Pick<Ceiling, 'skills'> = {},
): Promise<string[]> {
  const files = agentsWithin(agents.list(folder), ceiling)
  return listAgents(await readAgents(rows, registry), files).map(({ name }) => name)
}

/** Profiles of those of the named agents that are registered. */
export async function profilesOfAgents(
  rows: Reading,
  known: KnownRegistry,
  names: readonly string[],
): Promise<Map<string, ProfileValue>> {
  const entries = (await readAgents(rows, known)).filter(({ agentId }) => names.includes(agentId.slice(1)))
  const profiles = await listProfiles(rows, { ids: [...new Set(entries.map(({ profileId }) => profileId))] })
  return new Map(
    entries.flatMap(({ agentId, profileId }) => {
      const profile = profiles.find(({ id }) => id === profileId)
      return profile ? [[agentId.slice(1), profile.value]] : []
    }),
  )
}
