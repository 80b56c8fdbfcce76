import type { Model } from '../../domain/model.ts'
import type { Persona } from '../../domain/persona.ts'
import type { ModelClamp } from '../../domain/run.ts'

/** The model of a run, and those that answer when it fails. */
export interface ChosenModel {
  /** As asked for by a call, an input or an agent's file; null for the profile's, the persona's or the default. */
  requested: string | null
  /** Null if the run may use none of the models that there are. */
  name: string | null
  fallbacks: readonly string[]
  /** Set if another model was chosen than this one. */
  clamped?: ModelClamp
  /** Max tokens of a request and its reply, where the run's profile sets less than the model has. */
  window?: number
}

/** The models that there are. */
export interface KnownModels {
  /** Name of the model that answers if none is chosen. */
  defaultModel: string
  /** Models to try in this order when the default model fails. */
  fallbacks: readonly string[]
  knowsModel(name: string): boolean
}

/** Lists of models that may be used: a model must be in all of them. One that is left out limits nothing. */
export interface AllowedModels {
  /** The owner's: `models.allow`. */
  owner?: readonly string[] | undefined
  /** Those of the run's profile. */
  profile?: readonly string[] | undefined
  /** Those that the run was given, by its parent or by an earlier claim. */
  ceiling?: readonly string[] | undefined
}

/** Why a model that is not in a list gives way to another. The first list counts that does not have it. */
const clampReasons = {
  owner: 'it is not in models.allow',
  profile: 'its profile does not allow it',
  ceiling: 'it is not among the models that this run was given',
} as const satisfies Record<keyof AllowedModels, string>

/** What was asked for. */
interface ModelWish {
  requested: string | null
  /** Name of the profile's model. */
  profileModel?: string | undefined
  persona?: Persona | null
  allow?: AllowedModels
}

/**
 * Chooses the model of a run; the only place that does. The requested model counts, else the profile's, the persona's, the
 * default. One that is not allowed gives way to the first of these that is, or to the first of the lists.
 */
export function chooseModel(
  models: KnownModels,
  { requested, profileModel, persona, allow = {} }: ModelWish,
): ChosenModel {
  const isAllowed = (name: string) => clampOf(name, allow) === undefined
  const named = requested ?? profileModel ?? persona?.defaultModelConfig?.model ?? null
  const wanted = named ?? models.defaultModel
  const clamped = clampOf(wanted, allow)
  const name = clamped ? (substitutes(models, profileModel, allow).find(isAllowed) ?? null) : wanted
  // No fallbacks for an explicitly named model: the prompt may not be meant for other vendors.
  const fallbacks = named === null ? models.fallbacks.filter((each) => each !== name && isAllowed(each)) : []
  return {
    requested,
    name,
    fallbacks,
    ...(clamped && { clamped }),
  }
}

function substitutes(models: KnownModels, profileModel: string | undefined, allow: AllowedModels): string[] {
  const { owner = [], profile = owner, ceiling = profile } = allow
  const known = ceiling.filter((name) => models.knowsModel(name))
  return [...(profileModel === undefined ? [] : [profileModel]), models.defaultModel, ...known]
}

/** Why a model gives way to another; undefined if it may be used. */
function clampOf(model: string, allow: AllowedModels): ModelClamp | undefined {
  const list = (['owner', 'profile', 'ceiling'] as const).find((key) => allow[key]?.includes(model) === false)
  return list && { from: model, why: clampReasons[list] }
}

/** Max tokens of a request to this model and its reply together. */
export function windowOf({ window }: Pick<Model, 'window'>, { window: limit = window }: Pick<ChosenModel, 'window'>) {
  return Math.min(window, limit)
}
