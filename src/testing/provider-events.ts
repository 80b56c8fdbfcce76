import { argumentsOf, type ProviderAnswer, type TokenCounts } from './provider-wire.ts'

/** A reply as server-sent events, and where in its bytes the usage is complete. */
export interface ReplyBytes {
  bytes: Buffer
  /** How many bytes the client must have got to know the usage; endless when it is never told. */
  usageEnd: number
}

/** Writes an answer as OpenAI's streaming chat completions do: small deltas, the reason, the usage, [DONE]. */
export function replyBytes(answer: ProviderAnswer, model: string, usage: TokenCounts): ReplyBytes {
  const faults = answer.faults ?? {}
  const deltas = [{ role: 'assistant', content: '' }, ...textDeltas(answer), ...callDeltas(answer)]
  const finish = answer.finish ?? (answer.calls?.length ? 'tool_calls' : 'stop')
  const common = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_767_225_600, model }
  const events = deltas.map((delta) => dataEvent({ ...common, choices: [{ index: 0, delta, finish_reason: null }] }))
  events.push(dataEvent({ ...common, choices: [{ index: 0, delta: {}, finish_reason: finish }] }))

  const middle = Math.ceil(events.length / 2)
  if (faults.brokenEvent) events.splice(middle, 0, text('data: {"choices":[{"delta":{"conten\n\n'))
  if (faults.errorEvent !== undefined) events.splice(middle, 0, dataEvent({ error: faults.errorEvent }))
  if (faults.invalidUtf8) events.splice(middle, 0, halfCharacter(common))
  if (faults.unknownEvents)
    events.splice(middle, 0, text('event: ping\ndata: {"type":"ping"}\n\n: a comment\n\nnoise\n\n'))

  if (!faults.noUsage) events.push(dataEvent({ ...common, choices: [], usage: wireUsage(usage) }))
  const usageEnd = faults.noUsage ? Number.POSITIVE_INFINITY : Buffer.concat(events).length
  if (!faults.noDone) events.push(text('data: [DONE]\n\n'))
  return { bytes: Buffer.concat(events), usageEnd }
}

function textDeltas({ text = '', thinking = '', refusal = '' }: ProviderAnswer): object[] {
  return [
    ...inPieces(thinking).map((piece) => ({ reasoning_content: piece })),
    ...inPieces(text).map((piece) => ({ content: piece })),
    ...inPieces(refusal).map((piece) => ({ refusal: piece })),
  ]
}

/** Each call begins with its name and goes on with its arguments in pieces, one call after the other. */
function callDeltas({ calls = [], faults = {} }: ProviderAnswer): object[] {
  const deltas = calls.map((call, place) => {
    const index = faults.indexes === 'same' ? 0 : place
    const id = call.id ?? `call_${place + 1}`
    const begin = {
      index,
      ...(id !== '' && { id }),
      type: 'function',
      function: { name: call.name, arguments: '' },
      ...(call.signature !== undefined && { extra_content: { google: { thought_signature: call.signature } } }),
    }
    const rest = inPieces(argumentsOf(call)).map((piece) => ({ index, function: { arguments: piece } }))
    return [begin, ...rest].map((delta) => ({ tool_calls: [delta] }))
  })
  return (faults.indexes === 'reversed' ? deltas.reverse() : deltas).flat()
}

/** About eight pieces, cut between characters. */
function inPieces(text: string): string[] {
  const characters = Array.from(text)
  const size = Math.max(1, Math.ceil(characters.length / 8))
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, i) =>
    characters.slice(i * size, (i + 1) * size).join(''),
  )
}

function halfCharacter(common: object): Buffer {
  const whole = dataEvent({ ...common, choices: [{ index: 0, delta: { content: 'é' }, finish_reason: null }] })
  const at = whole.indexOf('é')
  return Buffer.concat([whole.subarray(0, at + 1), whole.subarray(at + 2)])
}

function wireUsage({ inputTokens, outputTokens, cachedTokens }: TokenCounts): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}

function dataEvent(value: unknown): Buffer {
  return text(`data: ${JSON.stringify(value)}\n\n`)
}

function text(value: string): Buffer {
  return Buffer.from(value, 'utf8')
}
