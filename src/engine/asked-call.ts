import type { Delta, Model, ModelFailure } from '../domain/model.ts'
import { storable } from '../domain/storable.ts'
import { noUsage, type Usage } from '../domain/turn.ts'
import { acceptUsage } from './accept-reply.ts'
import type { Shown } from './model-request.ts'
import { tokensIn, tokensOf } from './weight.ts'

/** A model call that has no reply yet: what was sent, and what has come of it so far. */
export class AskedCall {
  readonly call: number
  readonly model: Model
  /** Why there will be none. */
  failure: ModelFailure | undefined
  readonly #shown: Shown
  readonly #isQuiet: boolean
  #text = ''
  /** Thoughts, and calls as they were being written. */
  #besides = ''

  /** `isQuiet`: it is the runtime that asks, and what it is told is no answer to anybody. */
  constructor(call: number, model: Model, shown: Shown, isQuiet: boolean) {
    this.call = call
    this.model = model
    this.#shown = shown
    this.#isQuiet = isQuiet
  }

  hear({ kind, text }: Delta): void {
    if (kind === 'text') this.#text += text
    else this.#besides += text
  }

  /** What it has said of an answer. */
  get text(): string {
    return this.#isQuiet ? '' : storable(this.#text)
  }

  /** What it has cost, as far as anybody can tell; undefined where that is nothing. */
  get cost(): Usage | undefined {
    const { failure, model } = this
    if (model.costsNothing) return noUsage
    const told = failure?.usage && acceptUsage(failure.usage)
    const isAllTold = failure && !failure.mayHaveCost && (told || this.#text + this.#besides === '')
    return isAllTold ? told : this.#estimate(told)
  }

  /** What was told, and more where more was sent or seen. */
  #estimate(told: Usage = noUsage): Usage {
    const { price } = this.model
    const inputTokens = told.inputTokens || tokensOf(this.#shown)
    const outputTokens = Math.max(told.outputTokens, tokensIn(this.#text + this.#besides))
    const untold = (inputTokens - told.inputTokens) * price.input + (outputTokens - told.outputTokens) * price.output
    const costUsd = told.costUsd + untold / 1_000_000
    return { inputTokens, outputTokens, cachedTokens: told.cachedTokens, costUsd, isEstimate: true }
  }
}
