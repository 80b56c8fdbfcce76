import { type Ceiling, intersectCeilings } from '../../domain/access/ceiling.ts'
import { forwardCeilingOfProfile } from '../../domain/profiles/forward.ts'
import { modelsOfProfile, type ProfileValue } from '../../domain/profiles/profile.ts'
import type { AgentEntry } from '../../domain/profiles/registry.ts'
import type { ProfileVersion, Run } from '../../domain/run.ts'
import { findPolicyVersion } from '../../store/rows/policies/policies.ts'
import type { Reading } from '../../store/store.ts'
import type { AllowedModels } from '../model/choose-model.ts'
import { isBackground } from '../model/role.ts'
import { listProfiles } from './profiles.ts'
import type { RunPolicies } from './run-policies.ts'

/** The profile of a run. */
export interface RunProfile extends ProfileVersion {
  value: ProfileValue
  /** All of these limit the run: the version that it took, and the current one if that is another. */
  limits: readonly ProfileValue[]
}

/** Names of the models that there are, with the provider of each; and those that every list allows. */
export interface ModelProviders {
  providers: ReadonlyMap<string, string>
  /** Models that cost nothing and send nothing. */
  freeModels: readonly string[]
}

/**
 * The profile of a run: the one it has, else that of its delegation, of its agent, or the one that is pinned. Null without
 * one, and the id of one that is gone.
 */
export async function profileOfRun(
  rows: Reading,
  run: Pick<Run, 'agent' | 'epoch' | 'profile' | 'options' | 'parentRunId'>,
  { profile: pinned }: Pick<RunPolicies, 'profile'>,
  entry: AgentEntry | undefined,
): Promise<RunProfile | { gone: string } | null> {
  if (isBackground(run)) return null
  if (run.profile) return keptProfile(rows, run.profile)
  // It began without one.
  if (run.epoch > 0) return null
  const id = run.options.delegation?.profileId ?? entry?.profileId
  if (id === undefined) {
    // A pin is for who talks with the user; agents below are limited by what that one may hand on.
    return pinned && run.parentRunId === null ? { ...pinned, limits: [pinned.value] } : null
  }
  const [found] = await listProfiles(rows, { ids: [id] })
  return found ? { ...found, limits: [found.value] } : { gone: id }
}

/** The version that a run took, whatever became of the profile since: a change only narrows the run. */
async function keptProfile(rows: Reading, { id, version }: ProfileVersion): Promise<RunProfile | { gone: string }> {
  const taken = (await findPolicyVersion(rows, 'profile', id, version)) as ProfileValue | null
  if (taken === null) return { gone: id }
  const [now] = await listProfiles(rows, { ids: [id] })
  return { id, version, value: taken, limits: now && now.version !== version ? [taken, now.value] : [taken] }
}

/** The most that a profile lets a run, and everything below it, have. */
export function profileCeiling(models: ModelProviders, limits: readonly ProfileValue[]): Ceiling {
  return intersectCeilings(
    ...limits.map((value): Ceiling => {
      const names = allowedModels(models, value)
      return { ...(names && { models: names }), ...forwardCeilingOfProfile(value) }
    }),
  )
}

/** The only models that a profile allows; undefined if it allows all. */
function allowedModels({ providers, freeModels }: ModelProviders, value: ProfileValue): string[] | undefined {
  const { provider } = value.model
  const listed = modelsOfProfile(value)
  if (provider === undefined) return listed && [...new Set([...listed, ...freeModels])]
  const named = listed ?? [...providers.keys()]
  return [...new Set([...named.filter((name) => providers.get(name) === provider), ...freeModels])]
}

/** What a profile says of the model of an agent that is yet to start, for `chooseModel`. */
export function modelOfProfile(
  engine: ModelProviders & { policy: { models?: readonly string[] } },
  profile: ProfileValue | undefined,
  ceiling?: readonly string[],
): { profileModel: string | undefined; allow: AllowedModels } {
  const limits = profileCeiling(engine, profile ? [profile] : [])
  return {
    profileModel: profile?.model.model,
    allow: { owner: engine.policy.models, profile: limits.models, ceiling },
  }
}

/** The least of a limit that several versions of a profile set; undefined if none does. */
export function smallestLimit(
  limits: readonly ProfileValue[],
  pick: (value: ProfileValue) => number | undefined,
): number | undefined {
  const set = limits.flatMap((value) => pick(value) ?? [])
  return set.length === 0 ? undefined : Math.min(...set)
}
