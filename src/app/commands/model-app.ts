import type { ModelApp, ModelLine } from '../../api/models.ts'
import type { Config, NamedModel } from '../../config/config.ts'
import { type Model, recordedName } from '../../domain/model.ts'
import { rehearsalName } from '../../rehearsal/rehearsal.ts'
import { modelFacts } from '../models.ts'

/** The models of a home, as far as everyone may know them. */
export function modelApp({
  config,
  models = [],
}: {
  config: Pick<Config, 'models' | 'agent' | 'allowedModels'>
  /** Models of the program. */
  models?: readonly Model[]
}): ModelApp {
  const chosen = config.agent.model ?? models[0]?.name ?? rehearsalName
  const use = (name: string) => ({
    isDefault: name === chosen,
    isAllowed: config.allowedModels?.includes(name) ?? true,
  })
  const given = (model: Model): ModelLine => ({
    ...{ name: model.name, model: recordedName(model), provider: 'program', window: model.window },
    ...use(model.name),
    isReady: true,
  })
  const configured = (name: string, named: NamedModel): ModelLine => ({
    ...{ name, model: named.model, provider: named.provider, window: modelFacts(named).window },
    ...use(name),
    isReady: named.apiKey?.isThere ?? true,
  })
  const names = new Set(models.map(({ name }) => name))
  const rehearsal: ModelLine = {
    ...{ name: rehearsalName, model: rehearsalName, provider: 'script', window: null },
    ...use(rehearsalName),
    isReady: true,
  }
  const lines = [
    ...models.map(given),
    ...Object.entries(config.models)
      .filter(([name]) => !names.has(name))
      .map(([name, named]) => configured(name, named)),
    ...(names.has(rehearsalName) ? [] : [rehearsal]),
  ]
  return { models: async () => lines }
}
