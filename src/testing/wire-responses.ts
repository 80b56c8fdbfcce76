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

const reasons: Record<string, string> = { length: 'max_output_tokens', content_filter: 'content_filter' }

/** OpenAI's streaming responses: items with start, deltas and end, then the whole response. */
export const responsesWire: WireFormat = {
  read(body) {
    const { model, input, tools, max_output_tokens } = (body ?? {}) as Record<string, unknown>
    if (typeof model !== 'string' || !Array.isArray(input)) return undefined
    return {
      model,
      messages: mergeAssistantItems(input.flatMap(readItem)),
      tools: Array.isArray(tools) ? tools : [],
      maxTokens: typeof max_output_tokens === 'number' ? max_output_tokens : null,
    }
  },
  key: (headers) => String(headers['authorization'] ?? '').replace(/^Bearer /, ''),
  refusal: (_, message) => ({ error: { message } }),
  write(answer, model, usage) {
    const event = (value: { type: string; [key: string]: unknown }) => dataEvent(value, value.type)
    const response = { id: 'resp_1', created_at: 1_767_225_600, model }
    const finish = finishOf(answer)
    const reason = reasons[finish] ?? (['stop', 'tool_calls'].includes(finish) ? undefined : finish)
    const ended = reason === undefined ? 'response.completed' : 'response.incomplete'
    const whole = {
      ...response,
      incomplete_details: reason === undefined ? null : { reason },
      usage: answer.faults?.noUsage ? null : wireUsage(usage),
    }
    const items = [...textItems(answer), ...callItems(answer)]
    const itemEvents = items.flatMap(({ begin, deltas, end }, place) => [
      event({ type: 'response.output_item.added', output_index: place, item: begin }),
      ...deltas.map((delta) => event({ ...delta, output_index: place })),
      event({ type: 'response.output_item.done', output_index: place, item: end }),
    ])
    return {
      content: [event({ type: 'response.created', response }), ...itemEvents],
      counted: [],
      last: [event({ type: ended, response: whole })],
      text: (text) => event({ type: 'response.output_text.delta', item_id: 'msg_1', delta: text }),
      error: (error) => event({ type: 'error', sequence_number: 1, ...wireError(error) }),
    }
  },
}

function wireError(error: unknown): object {
  const { code, message = 'an error' } = (typeof error === 'string' ? { message: error } : error) as {
    code?: number
    message?: string
  }
  const name = code === 429 ? 'rate_limit_exceeded' : code === 400 ? 'invalid_prompt' : 'server_error'
  return { code: name, message, param: null, error: { type: name, code: name, message, param: null } }
}

function readItem(item: Record<string, unknown>): WireMessage[] {
  const { type, role, content, call_id: callId } = item
  if (type === 'function_call') {
    const call = { id: String(callId), name: String(item['name']), arguments: String(item['arguments']) }
    return [{ role: 'assistant', content: '', calls: [call], callId: null }]
  }
  if (type === 'function_call_output')
    return [{ role: 'tool', content: String(item['output']), calls: [], callId: String(callId) }]
  if (typeof role !== 'string') return []
  const media = (Array.isArray(content) ? content : []).flatMap(({ image_url: url }) =>
    url ? [String(url).replace(/^data:([^;]*);.*$/s, '$1')] : [],
  )
  const known = role === 'developer' ? 'system' : (role as WireMessage['role'])
  return [{ role: known, content: textOfParts(content), calls: [], callId: null, ...(media.length > 0 && { media }) }]
}

/** Merges consecutive assistant items into one message. */
function mergeAssistantItems(messages: WireMessage[]): WireMessage[] {
  const merged: WireMessage[] = []
  for (const message of messages) {
    const before = merged.at(-1)
    if (before?.role === 'assistant' && message.role === 'assistant') {
      before.content += message.content
      before.calls.push(...message.calls)
    } else merged.push(message)
  }
  return merged
}

interface Item {
  begin: object
  deltas: { type: string; [key: string]: unknown }[]
  end: object
}

function textItems({ text = '', thinking, signature, refusal = '' }: ProviderAnswer): Item[] {
  const items: Item[] = []
  if (thinking !== undefined) {
    const begin = { type: 'reasoning', id: 'rs_1', encrypted_content: signature ?? null }
    const deltas = splitIntoPieces(thinking).map((delta) => ({
      type: 'response.reasoning_summary_text.delta',
      item_id: 'rs_1',
      summary_index: 0,
      delta,
    }))
    const end = { ...begin, summary: [{ type: 'summary_text', text: thinking }] }
    items.push({ begin, deltas, end })
  }
  if (text + refusal !== '') {
    const message = { type: 'message', id: 'msg_1' }
    const deltas = splitIntoPieces(text).map((delta) => ({
      type: 'response.output_text.delta',
      item_id: 'msg_1',
      delta,
    }))
    const refused = splitIntoPieces(refusal).map((delta) => ({
      type: 'response.refusal.delta',
      item_id: 'msg_1',
      delta,
    }))
    items.push({ begin: message, deltas: [...deltas, ...refused], end: message })
  }
  return items
}

function callItems(answer: ProviderAnswer): Item[] {
  return callsToSend(answer).map((call, place) => {
    const item_id = `fc_${place + 1}`
    const item = { type: 'function_call', id: item_id, call_id: call.id, name: call.name }
    const written = argumentsOf(call)
    return {
      begin: { ...item, arguments: '' },
      deltas: splitIntoPieces(written).map((delta) => ({
        type: 'response.function_call_arguments.delta',
        item_id,
        delta,
      })),
      end: { ...item, arguments: written, status: 'completed' },
    }
  })
}

function wireUsage({ inputTokens, outputTokens, cachedTokens }: TokenCounts): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
  }
}
