import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { badPolicy } from '../../domain/profiles/problem.ts'
import {
  type AgentEntry,
  type AgentEntryInput,
  type AgentRegistry,
  checkRegistry,
  emptyRegistry,
  registryId,
} from '../../domain/profiles/registry.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { findPolicy, type PolicyRecord, policyIds, takePolicyLock } from '../../store/rows/policies/policies.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { changePolicy, type PolicyChange } from './change-policy.ts'

/** The registry as it is stored. Version 0 if there is none. */
export interface StoredRegistry {
  version: number
  registry: AgentRegistry
  updatedAt: Millis | null
  updatedBy: string | null
}

const name = { type: 'policy', id: registryId, called: 'the registry' } as const

export async function readRegistry(rows: Reading): Promise<StoredRegistry> {
  return registryFrom(await findPolicy(rows, 'policy', registryId))
}

/** Replaces the whole registry, if nothing is wrong with it and no other caller changed it meanwhile. */
export async function setRegistry(tx: Tx, value: unknown, change: PolicyChange): Promise<StoredRegistry> {
  await takePolicyLock(tx)
  return replaceRegistry(tx, value, change)
}

/** Adds an agent. */
export async function registerAgent(tx: Tx, entry: AgentEntryInput, change: PolicyChange): Promise<StoredRegistry> {
  await takePolicyLock(tx)
  const { registry } = await readRegistry(tx)
  if (registry.agents.some(({ agentId }) => agentId === entry.agentId))
    throw new HeddleError(
      'agent_registered',
      `${entry.agentId} is registered already`,
      `to change it: heddle agents export --json > FILE, edit it, heddle agents apply FILE; or first heddle agents unregister ${entry.agentId}`,
    )
  const { problems } = checkRegistry({ version: 1, agents: [entry] }, await policyIds(tx, 'profile'))
  if (problems.length > 0)
    throw badPolicy(
      'this agent',
      'bad_registry',
      problems.map(({ path, message }) => ({ path: path.replace(/^agents\[0\]\.?/, ''), message })),
      'correct it and try again; heddle profiles lists profiles',
    )
  return replaceRegistry(tx, { ...registry, agents: [...registry.agents, entry] }, change)
}

/** Removes an agent. Pins that were made by its name do not count from now on. */
export async function unregisterAgent(tx: Tx, agentId: string, change: PolicyChange): Promise<StoredRegistry> {
  await takePolicyLock(tx)
  const { registry } = await readRegistry(tx)
  findEntry(registry, agentId)
  const agents = registry.agents.filter((entry) => entry.agentId !== agentId)
  return replaceRegistry(tx, { ...registry, agents }, change)
}

/** The entry of an agent; throws if it is not registered. */
export function findEntry({ agents }: AgentRegistry, agentId: string): AgentEntry {
  const found = agents.find((entry) => entry.agentId === agentId)
  if (found) return found
  const close = nearest(
    agentId,
    agents.map((entry) => entry.agentId),
  )
  throw new HeddleError(
    'agent_unknown',
    `no agent ${JSON.stringify(agentId)} is registered`,
    close ? `did you mean ${close}?` : 'heddle agents lists them; heddle agents register adds one',
  )
}

async function replaceRegistry(tx: Tx, value: unknown, change: PolicyChange): Promise<StoredRegistry> {
  return registryFrom(await changePolicy(tx, name, await checked(tx, value), change))
}

async function checked(rows: Reading, value: unknown): Promise<AgentRegistry> {
  const { registry, problems } = checkRegistry(value, await policyIds(rows, 'profile'))
  if (registry) return registry
  throw badPolicy(name.called, 'bad_registry', problems, 'correct it and send it again; heddle profiles lists profiles')
}

function registryFrom(record: PolicyRecord | undefined): StoredRegistry {
  if (!record) return { version: 0, registry: emptyRegistry, updatedAt: null, updatedBy: null }
  const { version, value, updatedAt, updatedBy } = record
  return { version, registry: value as AgentRegistry, updatedAt, updatedBy }
}
