import type { ModelReply } from '../domain/model.ts'
import { storable } from '../domain/storable.ts'
import type { Usage } from '../domain/turn.ts'

/** Longer names and ids than any provider uses. */
const maxName = 200

/**
 * The one way of a model's reply into the engine. Names, ids, text and numbers are made such that every row that a run
 * writes, up to its end, can be stored, whatever the provider sent. What a call is to be made with stays as it is: it is
 * kept as JSON, and its tool decides about it.
 */
export function acceptReply(reply: ModelReply): ModelReply {
  return {
    ...reply,
    text: storable(String(reply.text)),
    model: name(reply.model),
    calls: reply.calls.map(({ id, name: tool, input }) => ({ id: name(id), name: name(tool), input })),
    usage: acceptUsage(reply.usage),
  }
}

/** Whole tokens and money from 0 on. */
export function acceptUsage(usage: Usage): Usage {
  const count = (value: number) => Math.min(Math.round(atLeastZero(value)), Number.MAX_SAFE_INTEGER)
  return {
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    cachedTokens: count(usage.cachedTokens),
    costUsd: atLeastZero(usage.costUsd),
    ...(usage.isEstimate && { isEstimate: true }),
  }
}

function atLeastZero(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}

function name(text: string): string {
  return storable(String(text).slice(0, maxName))
}
