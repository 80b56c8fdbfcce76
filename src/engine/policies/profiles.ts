import { HeddleError } from '../../domain/errors.ts'
import { badPolicy } from '../../domain/profiles/problem.ts'
import { checkProfileId, type Profile, type ProfileValue, readProfile } from '../../domain/profiles/profile.ts'
import { nearest } from '../../domain/text/nearest.ts'
import {
  findPolicy,
  listPolicies,
  type PolicyRecord,
  policyIds,
  takePolicyLock,
} from '../../store/rows/policies/policies.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { changePolicy, type PolicyChange, removePolicy } from './change-policy.ts'
import { readRegistry } from './registry.ts'

/** All profiles, by id; of several ids only those. */
export async function listProfiles(rows: Reading, filter: { ids?: readonly string[] } = {}): Promise<Profile[]> {
  return (await listPolicies(rows, 'profile', filter)).map(profileFrom)
}

/** The profile of this id; throws if there is none. */
export async function resolveProfile(rows: Reading, id: string): Promise<Profile> {
  const found = await findPolicy(rows, 'profile', id)
  if (found) return profileFrom(found)
  const close = nearest(id, [...(await policyIds(rows, 'profile'))])
  throw new HeddleError(
    'profile_unknown',
    `there is no profile "${id}"`,
    close ? `did you mean ${close}?` : 'heddle profiles lists them',
  )
}

/** Writes a profile; `check` throws if it names what does not exist. */
export async function setProfile(
  tx: Tx,
  { id, value }: { id: string; value: unknown },
  change: PolicyChange,
  check: (value: ProfileValue) => void,
): Promise<Profile> {
  const called = `the profile ${checkProfileId(id)}`
  const read = readProfile(value)
  if ('problems' in read) throw badPolicy(called, 'bad_profile', read.problems, 'correct it and send it again')
  check(read.value)
  await takePolicyLock(tx)
  return profileFrom(await changePolicy(tx, { type: 'profile', id, called }, read.value, change))
}

/** Removes a profile that no agent of the registry has. Pins to it do not count from now on. */
export async function deleteProfile(tx: Tx, id: string, change: PolicyChange): Promise<{ version: number }> {
  await takePolicyLock(tx)
  await resolveProfile(tx, id)
  const users = (await readRegistry(tx)).registry.agents.filter(({ profileId }) => profileId === id)
  if (users.length > 0) throw inUse(id, users[0]?.agentId ?? '', users.length - 1)
  const removed = await removePolicy(tx, { type: 'profile', id, called: `the profile ${id}` }, change)
  return removed ?? { version: 0 }
}

function inUse(id: string, agentId: string, others: number): HeddleError {
  return new HeddleError(
    'profile_in_use',
    `${agentId}${others > 0 ? ` and ${others} more` : ''} would be left without the profile ${id}`,
    `unregister it first: heddle agents unregister ${agentId}`,
  )
}

function profileFrom({ id, version, value, updatedAt, updatedBy }: PolicyRecord): Profile {
  return { id, version, value: value as ProfileValue, updatedAt, updatedBy }
}
