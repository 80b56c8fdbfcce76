import type { PinView, PolicyVersionView, ProfileApp, ProfileView, RegistryView } from '../api/profiles.ts'
import { actingFor } from '../domain/access/principal.ts'
import { UsageError } from '../domain/errors.ts'
import { type EffectivePin, type Pin, type PinScope, pinScopes } from '../domain/profiles/pin.ts'
import { modelsOfProfile, type Profile, type ProfileValue } from '../domain/profiles/profile.ts'
import { registryId } from '../domain/profiles/registry.ts'
import { findPinnedSession, type PinTarget, removePin, setPin } from '../engine/policies/pins.ts'
import { deleteProfile, listProfiles, resolveProfile, setProfile } from '../engine/policies/profiles.ts'
import {
  readRegistry,
  registerAgent,
  type StoredRegistry,
  setRegistry,
  unregisterAgent,
} from '../engine/policies/registry.ts'
import { readRunPolicies } from '../engine/policies/run-policies.ts'
import { assertMayWritePrompt, resolvePrincipal } from '../engine/run/sender.ts'
import { listPolicyVersions, type PolicyVersion, type ResourceType } from '../store/rows/policies/policies.ts'
import type { Tx } from '../store/store.ts'
import type { AppEngine } from './engine.ts'
import type { Caller } from './guard/caller.ts'
import { assertModelKnown, assertPermissions, type PermissionNames } from './permission-names.ts'

/** Versions of a record that its history shows. */
const shownVersions = 100
const mainSession = 'main'

export function profileApp(
  engine: AppEngine,
  { known, caller }: { known: PermissionNames; caller: Caller },
): ProfileApp {
  const { store, clock } = engine
  const principal = actingFor(caller.principal)
  const change = (expected?: number) => ({ by: caller.text, now: clock.now(), expected })
  const history = async (type: ResourceType, id: string) =>
    (await store.read((rows) => listPolicyVersions(rows, type, id, shownVersions))).map(viewVersion)
  /** Refuses principals whom the owner does not trust: the text becomes part of prompts. */
  const write = <T>(body: (tx: Tx) => Promise<T>) =>
    store.write('policy', async (tx) => {
      await assertMayWritePrompt(tx, caller.principal)
      return body(tx)
    })
  return {
    profiles: async () => (await store.read((rows) => listProfiles(rows))).map(viewProfile),
    profile: async (id) => viewProfile(await store.read((rows) => resolveProfile(rows, id))),
    setProfile: async (id, value, expected) =>
      viewProfile(
        await write((tx) => setProfile(tx, { id, value }, change(expected), (read) => assertNames(read, known))),
      ),
    deleteProfile: (id, expected) => write((tx) => deleteProfile(tx, id, change(expected))),
    profileHistory: (id) => history('profile', id),
    agentRegistry: async () => viewRegistry(await store.read(readRegistry)),
    setAgentRegistry: async (value, expected) =>
      viewRegistry(await write((tx) => setRegistry(tx, value, change(expected)))),
    registerAgent: async (entry) => ({ version: (await write((tx) => registerAgent(tx, entry, change()))).version }),
    unregisterAgent: async (agentId) => ({
      version: (await write((tx) => unregisterAgent(tx, agentId, change()))).version,
    }),
    registryHistory: () => history('policy', registryId),
    async pins(folder, session) {
      const { pins } = await store.read(async (rows) => {
        const found = session === undefined ? undefined : await findPinnedSession(rows, { folder, session })
        // What an admin looks at is what its user would have.
        const asked = found ? await resolvePrincipal(rows, found.principalId) : principal
        return readRunPolicies(rows, engine.registry, { sessionId: found?.id, principal: asked, folder })
      })
      return { why: pins.why, pins: viewPins(pins) }
    },
    setPin: async (folder, { scope, session = mainSession, ...named }) =>
      setPin(engine, { scope: checkScope(scope), folder, session, principal }, targetOf(named)),
    removePin: async (folder, { scope, session = mainSession }) => ({
      removed: await removePin(engine, { scope: checkScope(scope), folder, session, principal }),
    }),
  }
}

/** Throws if a profile names a model, tool or credential that does not exist. */
function assertNames(value: ProfileValue, known: PermissionNames): void {
  const { limits } = value
  for (const name of modelsOfProfile(value) ?? []) assertModelKnown(name, known)
  if (limits?.permissions) assertPermissions(limits.permissions, known)
}

function checkScope(scope: PinScope): PinScope {
  if (pinScopes.includes(scope)) return scope
  throw new UsageError('there is no such scope of a pin', `use ${pinScopes.join(', ')}`, 'bad_request')
}

function targetOf({ agentId, profileId }: { agentId?: string; profileId?: string }): PinTarget {
  if (agentId !== undefined && profileId === undefined) return { agentId }
  if (profileId !== undefined && agentId === undefined) return { profileId }
  throw new UsageError('a pin names an agent or a profile', 'give agentId or profileId', 'bad_request')
}

function viewProfile({ id, version, value, updatedAt, updatedBy }: Profile): ProfileView {
  return { id, version, ...value, updatedAt: new Date(updatedAt).toISOString(), updatedBy }
}

function viewRegistry({ updatedAt, ...stored }: StoredRegistry): RegistryView {
  return { ...stored, updatedAt: updatedAt === null ? null : new Date(updatedAt).toISOString() }
}

function viewVersion({ at, ...version }: PolicyVersion): PolicyVersionView {
  return { ...version, at: new Date(at).toISOString() }
}

function viewPins({ pin, why, others }: EffectivePin): PinView[] {
  const view = ({ gone: _, registeredWith: __, ...shown }: Pin, effective: boolean, because: string) => ({
    ...shown,
    effective,
    why: because,
  })
  return [...(pin ? [view(pin, true, why)] : []), ...others.map((other) => view(other.pin, false, other.why))]
}
