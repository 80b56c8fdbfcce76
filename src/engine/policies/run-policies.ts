import type { Principal } from '../../domain/access/principal.ts'
import {
  type EffectivePin,
  effectivePin,
  type Pin,
  type PinScope,
  type PinValue,
  pinRecordId,
  pinUserId,
} from '../../domain/profiles/pin.ts'
import type { Profile } from '../../domain/profiles/profile.ts'
import { type AgentEntry, type AgentRegistry, registryId } from '../../domain/profiles/registry.ts'
import { policiesOfRun } from '../../store/rows/policies/policies.ts'
import type { Reading } from '../../store/store.ts'
import { listProfiles } from './profiles.ts'

/** The policies that hold for the runs of a session. */
export interface RunPolicies {
  /** Agents of the registry. */
  agents: readonly AgentEntry[]
  pins: EffectivePin
  /** The profile that is pinned; null for the default. */
  profile: Profile | null
}

/** Keeps the newest registry that this process has read: a version never changes, and a large one takes time to parse. */
export class KnownRegistry {
  #version = 0
  #agents: readonly AgentEntry[] = []

  get version(): number {
    return this.#version
  }

  /** Agents of this version; `json` is left out by the store if it is the known one. */
  read(version: number, json: string | null): readonly AgentEntry[] {
    if (json === null) return this.#agents
    const { agents } = JSON.parse(json) as AgentRegistry
    this.#version = version
    this.#agents = agents
    return agents
  }
}

/** Agents of the registry. */
export async function readAgents(rows: Reading, known: KnownRegistry): Promise<readonly AgentEntry[]> {
  const noPins = { session: '', user: '', workspace: '', global: '' }
  const [stored] = await policiesOfRun(rows, { registry: registryId, known: known.version, ...noPins })
  return stored ? known.read(stored.version, stored.value) : []
}

/** Reads the registry and the pins that hold in a session, in one statement, and in two where something is pinned. */
export async function readRunPolicies(
  rows: Reading,
  known: KnownRegistry,
  { sessionId, principal, folder }: { sessionId: string | undefined; principal: Principal; folder: string },
): Promise<RunPolicies> {
  const ids = { session: sessionId ?? '', user: pinUserId(principal) ?? '', workspace: folder, global: '' }
  const scopes = Object.entries(ids) as [PinScope, string][]
  const found = await policiesOfRun(rows, {
    registry: registryId,
    known: known.version,
    session: pinRecordId('session', ids.session),
    user: pinRecordId('user', ids.user),
    workspace: pinRecordId('workspace', ids.workspace),
    global: pinRecordId('global', ids.global),
  })
  const stored = found.find(({ id }) => id === registryId)
  const agents = stored ? known.read(stored.version, stored.value) : []
  const pins = scopes.flatMap(([scope, id]): Pin[] => {
    const record = found.find((each) => each.id === pinRecordId(scope, id))
    return record ? [{ scope, id, ...(JSON.parse(record.value ?? '{}') as PinValue) }] : []
  })
  const profiles = await listProfiles(rows, { ids: pins.map(({ profileId }) => profileId) })
  const effective = effectivePin(pins.map((pin) => ({ ...pin, ...sinceThen(pin, agents, profiles) })))
  return { agents, pins: effective, profile: profiles.find(({ id }) => id === effective.pin?.profileId) ?? null }
}

/** Whether the agent and the profile of a pin still exist. */
function sinceThen(
  { agentId, profileId }: Pin,
  agents: readonly AgentEntry[],
  profiles: readonly Profile[],
): Pick<Pin, 'gone' | 'registeredWith'> {
  const entry = agents.find((each) => each.agentId === agentId)
  if (agentId !== undefined && !entry) return { gone: 'agent' }
  if (!profiles.some(({ id }) => id === profileId)) return { gone: 'profile' }
  return entry && entry.profileId !== profileId ? { registeredWith: entry.profileId } : {}
}
