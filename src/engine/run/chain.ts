import { HeddleError } from '../../domain/errors.ts'
import type { Model } from '../../domain/model.ts'
import type { ChosenModel } from '../model/choose-model.ts'
import type { Engine } from '../runtime.ts'
import type { Journal } from './context/journal.ts'

/** Attempts per model that has a fallback. */
const triesEach = 2

/**
 * Models for a run's next call, in fallback order. The number of failed attempts decides which one is next; it is stored
 * with the run, so that a crash does not restart the chain.
 */
export class Chain {
  readonly #models: Model[]
  readonly #lastTries: number

  constructor(engine: Engine, { name, fallbacks }: ChosenModel, journal: Journal) {
    if (name === null) throw noModelAllowed()
    const models = [engine.model(name), ...fallbacks.flatMap((each) => usable(engine, each))]
    // Start with the model that answered last, so that no call waits for one that is known to be down.
    const at = models.findIndex(({ name }) => name === journal.lastReply?.by)
    this.#models = at > 0 ? [...models.slice(at), ...models.slice(0, at)] : models
    this.#lastTries = engine.limits.maxTries
  }

  /** The model to call after this many failed attempts. */
  at(tries: number): Model {
    return this.#models[this.#indexAt(tries)] as Model
  }

  /** Max attempts of a call over all models. */
  get maxTries(): number {
    return (this.#models.length - 1) * triesEach + this.#lastTries
  }

  /** How many of these attempts were made with the current model. */
  triesOfModel(tries: number): number {
    return tries - this.#indexAt(tries) * triesEach
  }

  /** The number of attempts at which the next model starts; undefined for the last model. */
  triesAtNext(tries: number): number | undefined {
    const index = this.#indexAt(tries)
    return index < this.#models.length - 1 ? (index + 1) * triesEach : undefined
  }

  #indexAt(tries: number): number {
    return Math.min(Math.floor(tries / triesEach), this.#models.length - 1)
  }
}

/** Skips a model that cannot be called, e.g. without an API key; `heddle doctor` reports it. */
function usable(engine: Engine, name: string): Model[] {
  try {
    return [engine.model(name)]
  } catch (error) {
    if (error instanceof HeddleError) return []
    throw error
  }
}

function noModelAllowed(): HeddleError {
  return new HeddleError(
    'no_model_allowed',
    'this run may use none of the models that are configured',
    'add one to models.allow: heddle config edit, then ask again',
  )
}
