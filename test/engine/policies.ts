import type { PinScope } from '../../src/domain/profiles/pin.ts'
import { pinRecordId } from '../../src/domain/profiles/pin.ts'
import type { ProfileValue } from '../../src/domain/profiles/profile.ts'
import type { AgentEntryInput } from '../../src/domain/profiles/registry.ts'
import { changePolicy, removePolicy } from '../../src/engine/policies/change-policy.ts'
import { deleteProfile, setProfile } from '../../src/engine/policies/profiles.ts'
import { registerAgent, unregisterAgent } from '../../src/engine/policies/registry.ts'
import type { Runtime } from '../../src/engine/runtime.ts'

const change = { by: 'owner', now: 1 }

/** An entry of the registry without what the test does not care for. */
export type EntryDraft = Partial<AgentEntryInput>

export async function writeProfile({ store }: Pick<Runtime, 'store'>, id: string, value: ProfileValue): Promise<void> {
  await store.write('policy', (tx) => setProfile(tx, { id, value }, change, () => undefined))
}

export async function register(
  { store }: Pick<Runtime, 'store'>,
  entry: EntryDraft & Pick<AgentEntryInput, 'agentId' | 'profileId'>,
): Promise<void> {
  await store.write('policy', (tx) => registerAgent(tx, { description: 'Does it.', ...entry }, change))
}

/** Removes an agent and its profile. */
export async function unregister({ store }: Pick<Runtime, 'store'>, agentId: string, profileId: string): Promise<void> {
  await store.write('policy', async (tx) => {
    await unregisterAgent(tx, agentId, change)
    await deleteProfile(tx, profileId, change)
  })
}

/** Pins a profile, or removes the pin if there is none. */
export async function pin(
  { store }: Pick<Runtime, 'store'>,
  [scope, id]: [PinScope, string],
  profileId: string | undefined,
): Promise<void> {
  const name = { type: 'policy', id: pinRecordId(scope, id), called: 'the pin' } as const
  await store.write('policy', (tx) =>
    profileId === undefined ? removePolicy(tx, name, change) : changePolicy(tx, name, { profileId }, change),
  )
}
