import type { Config } from '../../config/config.ts'
import type { Clock } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Model } from '../../domain/model.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { ModelProviders } from '../../engine/policies/run-profile.ts'
import type { Engine } from '../../engine/runtime.ts'
import { rehearsalModel, rehearsalName } from '../../rehearsal/rehearsal.ts'
import { makeModel } from '../models.ts'

const pace = { shortest: 150, longest: 400 }

interface ModelSources {
  config: Pick<Config, 'models' | 'agent'>
  /** Models of the program, which come before those of the configuration. */
  models: Model[]
  clock: Clock
  /** Slows rehearsal down for a watching user. */
  paced: boolean
}

/** Models by name; each is made when it is first asked for. */
export function modelIndex(
  sources: ModelSources,
): Pick<Engine, 'defaultModel' | 'knowsModel' | 'model' | keyof ModelProviders> {
  const { config, models, clock, paced } = sources
  const given = new Map(models.map((model) => [model.name, model]))
  const made = new Map<string, Model>()
  return {
    // Rehearsal answers only if no model is configured, or if it was chosen itself.
    defaultModel: config.agent.model ?? models[0]?.name ?? rehearsalName,
    knowsModel: (name) => given.has(name) || Object.hasOwn(config.models, name),
    providers: new Map(Object.entries(config.models).map(([name, { provider }]) => [name, provider])),
    freeModels: [rehearsalName],
    model(name) {
      const known = given.get(name) ?? made.get(name)
      if (known) return known
      const model = name === rehearsalName ? rehearsalModel({ clock, ...(paced && { pace }) }) : configured(name)
      made.set(name, model)
      return model
    },
  }

  function configured(name: string): Model {
    const settings = Object.hasOwn(config.models, name) ? config.models[name] : undefined
    if (!settings) throw unknownModel(name, [...given.keys(), ...Object.keys(config.models)])
    return makeModel(name, settings, clock)
  }
}

function unknownModel(name: string, known: string[]): HeddleError {
  const close = nearest(name, known)
  return new HeddleError(
    'model_unknown',
    `there is no model "${name}"`,
    close ? `did you mean ${close}?` : 'heddle models lists them',
  )
}
