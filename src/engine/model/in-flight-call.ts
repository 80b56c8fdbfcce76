import { type Delta, type Model, type ModelFailure, type ModelReply, recordedName } from '../../domain/model.ts'
import { toStorable } from '../../domain/text/storable.ts'
import { noUsage, type Usage } from '../../domain/turn.ts'
import { acceptUsage } from './accept-reply.ts'
import type { ModelInput } from './model-request.ts'
import { tokensOf, tokensOfText } from './weight.ts'

/** A model call whose cost is not recorded yet: its request, and what has been received so far. */
export class InFlightCall {
  readonly call: number
  readonly model: Model
  #reply: ModelReply | undefined
  /** Why no reply will come. */
  failure: ModelFailure | undefined
  readonly #input: ModelInput
  readonly #isAside: boolean
  #text = ''
  /** Reasoning and tool call deltas. */
  #otherOutput = ''

  /** `isAside` marks calls of the runtime itself, such as a summary. */
  constructor(call: number, model: Model, input: ModelInput, { isAside }: { isAside: boolean }) {
    this.call = call
    this.model = model
    this.#input = input
    this.#isAside = isAside
  }

  addDelta({ kind, text }: Delta): void {
    if (kind === 'text') this.#text += text
    else this.#otherOutput += text
  }

  /** Completes the call. Usage that the provider did not report is estimated, as for an interrupted call. */
  complete(reply: ModelReply): ModelReply {
    // Not every model streams its text.
    if (this.#text === '') this.#text = reply.text
    this.#reply = reply.usage.isEstimate ? { ...reply, usage: this.#estimate() } : reply
    return this.#reply
  }

  /** Partial text of an interrupted answer. */
  get text(): string {
    return this.#reply || this.#isAside ? '' : toStorable(this.#text)
  }

  /** Model name as the provider reported it, else as requested. */
  get answeredBy(): string {
    return this.#reply?.model ?? recordedName(this.model)
  }

  /** Best known cost; undefined when the call cost nothing. */
  get cost(): Usage | undefined {
    const { failure, model } = this
    if (this.#reply) return this.#reply.usage
    if (model.costsNothing) return noUsage
    const reported = failure?.usage && acceptUsage(failure.usage)
    const isFinal = failure && !failure.mayHaveCost && (reported || this.#text + this.#otherOutput === '')
    return isFinal ? reported : this.#estimate(reported)
  }

  /** Reported usage, raised to what was sent and received. */
  #estimate(reported: Usage = noUsage): Usage {
    const { price } = this.model
    const inputTokens = reported.inputTokens || tokensOf(this.#input)
    const outputTokens = Math.max(reported.outputTokens, tokensOfText(this.#text + this.#otherOutput))
    const missingUsd =
      (inputTokens - reported.inputTokens) * price.input + (outputTokens - reported.outputTokens) * price.output
    const costUsd = reported.costUsd + missingUsd / 1_000_000
    return { inputTokens, outputTokens, cachedTokens: reported.cachedTokens, costUsd, isEstimate: true }
  }
}
