import type { Millis } from '../../domain/clock.ts'
import type { ProfileValue } from '../../domain/profiles/profile.ts'
import { type AgentRegistry, registryId } from '../../domain/profiles/registry.ts'
import { metaValue, setMeta } from '../../store/rows/meta.ts'
import { putPolicy, takePolicyLock } from '../../store/rows/policies/policies.ts'
import type { Runtime } from '../runtime.ts'

/** Who wrote what is shipped. */
const author = 'heddle'

/**
 * Agents that every home begins with. Their files in `agents/` have the instructions and the tools; the profiles limit
 * nothing, so that a home whose owner changed a file works as before.
 */
const shippedRegistry: AgentRegistry = {
  version: 1,
  agents: [
    entry('writer', 'Writes clear, human-sounding docs and messages. Prioritises structure and tone.', [
      'writing',
      'docs',
    ]),
    entry('researcher', 'Finds out what is true and gives its sources. Changes nothing.', ['research', 'facts']),
    entry('coder', 'Changes code, small and complete, and shows that it works.', ['code', 'fixes']),
  ],
}

/** Writes the shipped profiles and agents into a new database, once: what the owner removes stays removed. */
export async function shipPolicies({ store, clock }: Pick<Runtime, 'store' | 'clock'>): Promise<void> {
  if ((await store.read((rows) => metaValue(rows, 'policies_shipped'))) !== undefined) return
  const now: Millis = clock.now()
  await store.write('policy', async (tx) => {
    await takePolicyLock(tx)
    if ((await metaValue(tx, 'policies_shipped')) !== undefined) return
    await setMeta(tx, 'policies_shipped', '1')
    const shared = { version: 1, updatedAt: now, updatedBy: author }
    const value: ProfileValue = { model: {} }
    for (const { profileId: id } of shippedRegistry.agents)
      await putPolicy(tx, { type: 'profile', id, value, ...shared })
    await putPolicy(tx, { type: 'policy', id: registryId, value: shippedRegistry, ...shared })
  })
}

function entry(name: string, description: string, tags: string[]): AgentRegistry['agents'][number] {
  return {
    agentId: `@${name}`,
    profileId: `profile:${name}:v1`,
    description,
    defaultForwardSkills: [],
    allowedForwardSkills: [],
    defaultMcpServers: [],
    allowedMcpServers: [],
    tags,
  }
}
