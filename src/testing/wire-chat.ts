import {
  argumentsOf,
  callsToSend,
  dataEvent,
  finishOf,
  type ProviderAnswer,
  splitIntoPieces,
  type TokenCounts,
  textOfParts,
  type WireFormat,
  type WireMessage,
} from './provider-wire.ts'

/** OpenAI's streaming chat completions: small deltas, finish reason, usage, [DONE]. */
export const chatWire: WireFormat = {
  read(body) {
    const { model, messages, tools, max_tokens, max_completion_tokens } = (body ?? {}) as Record<string, unknown>
    if (typeof model !== 'string' || !Array.isArray(messages)) return undefined
    const limit = max_tokens ?? max_completion_tokens
    return {
      model,
      messages: messages.map(readMessage),
      tools: (Array.isArray(tools) ? tools : []).map((tool) => tool?.function ?? {}),
      maxTokens: typeof limit === 'number' ? limit : null,
    }
  },
  key: (headers) => String(headers['authorization'] ?? '').replace(/^Bearer /, ''),
  refusal: (_, message) => ({ error: { message } }),
  write(answer, model, usage) {
    const common = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_767_225_600, model }
    const chunk = (delta: object, reason: string | null = null) =>
      dataEvent({ ...common, choices: [{ index: 0, delta, finish_reason: reason }] })
    const deltas = [{ role: 'assistant', content: '' }, ...textDeltas(answer), ...callDeltas(answer)]
    return {
      content: [...deltas.map((delta) => chunk(delta)), chunk({}, finishOf(answer))],
      counted: answer.faults?.noUsage ? [] : [dataEvent({ ...common, choices: [], usage: wireUsage(usage) })],
      last: [Buffer.from('data: [DONE]\n\n')],
      text: (text) => chunk({ content: text }),
      error: (error) => dataEvent({ error }),
    }
  },
}

function readMessage(message: Record<string, unknown>): WireMessage {
  const { role, content, tool_calls: calls, tool_call_id: callId } = message
  const media = (Array.isArray(content) ? content : []).flatMap(({ image_url: image }) =>
    image?.url ? [String(image.url).replace(/^data:([^;]*);.*$/s, '$1')] : [],
  )
  return {
    role: role as WireMessage['role'],
    content: textOfParts(content),
    ...(media.length > 0 && { media }),
    calls: (Array.isArray(calls) ? calls : []).map((call) => ({ id: call.id, ...call.function })),
    callId: typeof callId === 'string' ? callId : null,
  }
}

function textDeltas({ text = '', thinking = '', refusal = '' }: ProviderAnswer): object[] {
  return [
    ...splitIntoPieces(thinking).map((piece) => ({ reasoning_content: piece })),
    ...splitIntoPieces(text).map((piece) => ({ content: piece })),
    ...splitIntoPieces(refusal).map((piece) => ({ refusal: piece })),
  ]
}

/** Each call starts with its name, followed by its arguments in pieces. */
function callDeltas(answer: ProviderAnswer): object[] {
  return callsToSend(answer).flatMap((call) => {
    const { id, index, signature } = call
    const begin = {
      index,
      ...(id !== '' && { id }),
      type: 'function',
      function: { name: call.name, arguments: '' },
      ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
    }
    const rest = splitIntoPieces(argumentsOf(call)).map((piece) => ({ index, function: { arguments: piece } }))
    return [begin, ...rest].map((delta) => ({ tool_calls: [delta] }))
  })
}

function wireUsage({ inputTokens, outputTokens, cachedTokens }: TokenCounts): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}
