import { HeddleError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import type { Persona } from '../domain/persona.ts'
import type { Run } from '../domain/run.ts'
import type { Journal } from './journal.ts'
import { modelFor } from './model-request.ts'
import type { Engine } from './world.ts'

/** Attempts at a model that has another behind it. */
const triesEach = 2

/**
 * Who may answer a run's next call, in the order they are asked. How far down the chain a call has come is told by the
 * number of its attempts, which is a row: a crash does not begin again at the top.
 */
export class Chain {
  readonly #models: Model[]
  readonly #lastTries: number

  constructor(engine: Engine, run: Pick<Run, 'modelRequested'>, persona: Persona | null, journal: Journal) {
    const first = modelFor(engine, run, persona)
    // Whoever names a model wants that one: another might be somebody the words were never meant for.
    const isDefault = (run.modelRequested ?? persona?.defaultModelConfig?.model ?? null) === null
    const others = isDefault ? engine.fallbacks.filter((name) => name !== first.name) : []
    const models = [first, ...others.flatMap((name) => usable(engine, name))]
    // A run stays with whom it last heard from, so that no call begins by waiting for one that is known to be down.
    const at = models.findIndex(({ name }) => name === journal.lastReply?.by)
    this.#models = at > 0 ? [...models.slice(at), ...models.slice(0, at)] : models
    this.#lastTries = engine.limits.maxTries
  }

  /** Who is asked after so many failed attempts at a call. */
  at(tries: number): Model {
    return this.#models[this.#place(tries)] as Model
  }

  /** Attempts at a call before it has failed. */
  get mostTries(): number {
    return (this.#models.length - 1) * triesEach + this.#lastTries
  }

  /** Of those, the ones that the model which is asked then has had. */
  own(tries: number): number {
    return tries - this.#place(tries) * triesEach
  }

  /** The number of attempts with which the next in the chain begins; undefined at its end. */
  skip(tries: number): number | undefined {
    const place = this.#place(tries)
    return place < this.#models.length - 1 ? (place + 1) * triesEach : undefined
  }

  #place(tries: number): number {
    return Math.min(Math.floor(tries / triesEach), this.#models.length - 1)
  }
}

/** One that cannot even be asked, because its key is missing, is passed over; `doctor` tells of it. */
function usable(engine: Engine, name: string): Model[] {
  try {
    return [engine.model(name)]
  } catch (error) {
    if (error instanceof HeddleError) return []
    throw error
  }
}
