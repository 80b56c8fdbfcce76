import type { Delta, Model, ModelFailure, ModelReply } from '../domain/model.ts'
import { storable } from '../domain/storable.ts'
import { noUsage, type Usage } from '../domain/turn.ts'
import { acceptUsage } from './accept-reply.ts'
import type { Shown } from './model-request.ts'
import { tokensIn, tokensOf } from './weight.ts'

/** A model call whose cost is not in the books yet: what was sent, and what has come of it so far. */
export class AskedCall {
  readonly call: number
  readonly model: Model
  reply: ModelReply | undefined
  /** Why there will be none. */
  failure: ModelFailure | undefined
  readonly #shown: Shown
  readonly #isAside: boolean
  #text = ''
  /** Thoughts, and calls as they were being written. */
  #besides = ''

  /** Aside: about something of the runtime's own, such as a summary. */
  constructor(call: number, model: Model, shown: Shown, { isAside }: { isAside: boolean }) {
    this.call = call
    this.model = model
    this.#shown = shown
    this.#isAside = isAside
  }

  hear({ kind, text }: Delta): void {
    if (kind === 'text') this.#text += text
    else this.#besides += text
  }

  /** What it has said of an answer that did not become whole. */
  get text(): string {
    return this.reply || this.#isAside ? '' : storable(this.#text)
  }

  /** Who answered, as the provider names it, else who was asked. */
  get answeredBy(): string {
    return this.reply?.model ?? this.model.name
  }

  /** What it has cost, as far as anybody can tell; undefined where that is nothing. */
  get cost(): Usage | undefined {
    const { failure, model, reply } = this
    if (reply) return reply.usage
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
