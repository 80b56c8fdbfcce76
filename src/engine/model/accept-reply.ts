import type { ModelReply } from '../../domain/model.ts'
import { toStorable } from '../../domain/text/storable.ts'
import type { Usage } from '../../domain/turn.ts'

/** A reply that is not journalled yet, and the call it came from. */
export interface ReceivedReply {
  reply: ModelReply
  /** The number of the model call in its run. */
  call: number
  /** The model that was asked, by its configured name. */
  by: string
}

/** Max characters of a name or id; longer than any provider uses. */
const maxName = 200

/**
 * Sanitizes a model's reply; every reply enters the engine here. Names, ids, text and numbers become storable whatever the
 * provider sent, so that no later write of the run can fail on them. Call inputs stay unchanged: they are stored as JSON,
 * and the tool validates them.
 */
export function acceptReply(reply: ModelReply): ModelReply {
  return {
    ...reply,
    text: toStorable(String(reply.text)),
    model: name(reply.model),
    calls: reply.calls.map(({ id, name: tool, input }) => ({ id: name(id), name: name(tool), input })),
    usage: acceptUsage(reply.usage),
  }
}

/** Usage with whole, non-negative token counts and a non-negative cost. */
export function acceptUsage(usage: Usage): Usage {
  const count = (value: number) => Math.min(Math.round(atLeastZero(value)), Number.MAX_SAFE_INTEGER)
  return {
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    cachedTokens: count(usage.cachedTokens),
    costUsd: atLeastZero(usage.costUsd),
    ...(usage.isEstimate && { isEstimate: true }),
    ...(usage.isPriceAssumed && { isPriceAssumed: true }),
  }
}

function atLeastZero(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}

function name(text: string): string {
  return toStorable(String(text).slice(0, maxName))
}
