import type { Persona } from '../../domain/persona.ts'
import type { ModelClamp } from '../../domain/turn.ts'

/** The model of a run, and those that answer when it fails. */
export interface ChosenModel {
  /** As asked for by a call, an input or an agent's file; null for the persona's or the default. */
  requested: string | null
  /** Null if the run may use none of the models that there are. */
  name: string | null
  fallbacks: readonly string[]
  /** Set if another model was chosen than this one. */
  clamped?: ModelClamp
}

/** The models that there are. */
export interface KnownModels {
  /** Name of the model that answers if none is chosen. */
  defaultModel: string
  /** Models to try in this order when the default model fails. */
  fallbacks: readonly string[]
  knowsModel(name: string): boolean
}

/** What was asked for. */
interface ModelWish {
  requested: string | null
  persona?: Persona | null
  /** Models that may be used; all if it is left out. */
  allow?: readonly string[] | undefined
}

/**
 * Chooses the model of a run; the only place that does. The requested model counts, else the persona's, else the default.
 * One that is not allowed gives way to the default model, or to the first that is allowed.
 */
export function chooseModel(models: KnownModels, { requested, persona, allow }: ModelWish): ChosenModel {
  const isAllowed = (name: string) => clampOf(name, allow) === undefined
  const named = requested ?? persona?.defaultModelConfig?.model ?? null
  const wanted = named ?? models.defaultModel
  const allowed = isAllowed(models.defaultModel)
    ? models.defaultModel
    : (allow?.find((name) => models.knowsModel(name)) ?? null)
  const clamped = clampOf(wanted, allow)
  const name = clamped ? allowed : wanted
  // No fallbacks for an explicitly named model: the prompt may not be meant for other vendors.
  const fallbacks = named === null ? models.fallbacks.filter((each) => each !== name && isAllowed(each)) : []
  return {
    requested,
    name,
    fallbacks,
    ...(clamped && { clamped }),
  }
}

/** Why a model gives way to another; undefined if it may be used. */
export function clampOf(model: string, allow: readonly string[] | undefined): ModelClamp | undefined {
  return allow === undefined || allow.includes(model) ? undefined : { from: model, why: 'it is not in models.allow' }
}
