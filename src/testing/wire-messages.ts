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

const reasons: Record<string, string> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
}
const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** Anthropic's streaming messages: blocks with start, deltas and stop, finish reason, message_stop. */
export const messagesWire: WireFormat = {
  read(body) {
    const { model, system, messages, tools, max_tokens } = (body ?? {}) as Record<string, unknown>
    if (typeof model !== 'string' || !Array.isArray(messages)) return undefined
    const prompt: WireMessage[] = system ? [plain('system', textOfParts(system))] : []
    return {
      model,
      messages: [...prompt, ...messages.flatMap(readMessage)],
      tools: Array.isArray(tools) ? tools : [],
      maxTokens: typeof max_tokens === 'number' ? max_tokens : null,
    }
  },
  key: (headers) => String(headers['x-api-key'] ?? ''),
  refusal: (status, message) => ({ type: 'error', error: { type: errorTypes[status] ?? 'api_error', message } }),
  write(answer, model, usage) {
    const event = (value: { type: string; [key: string]: unknown }) => dataEvent(value, value.type)
    const usageFields = wireUsage(answer.faults?.noUsage ? { inputTokens: 0, outputTokens: 0, cachedTokens: 0 } : usage)
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null }
    const finish = finishOf(answer)
    const blocks = [...textBlocks(answer), ...callBlocks(answer)]
    const blockEvents = blocks.flatMap(({ begin, deltas, index: own }, place) => {
      const index = own ?? place
      return [
        { type: 'content_block_start', index, content_block: begin },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ].map(event)
    })
    const start = event({ type: 'message_start', message: { ...message, usage: { ...usageFields, output_tokens: 0 } } })
    const delta = { stop_reason: reasons[finish] ?? finish, stop_sequence: null }
    return {
      content: [start, ...blockEvents],
      counted: [event({ type: 'message_delta', delta, usage: { output_tokens: usageFields.output_tokens } })],
      last: [event({ type: 'message_stop' })],
      text: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
      error: (error) => event({ type: 'error', error: wireError(error) }),
    }
  },
}

function wireError(error: unknown): { type: string; message: string } {
  const { code, message = 'an error' } = (typeof error === 'string' ? { message: error } : error) as {
    code?: number
    message?: string
  }
  return { type: errorTypes[code ?? 0] ?? 'overloaded_error', message }
}

/** Splits tool results off the user's message into messages of their own. */
function readMessage({ role, content }: { role: 'user' | 'assistant'; content: unknown }): WireMessage[] {
  if (!Array.isArray(content)) return [plain(role, textOfParts(content))]
  const results = content.filter(({ type }) => type === 'tool_result')
  const others = content.filter(({ type }) => type !== 'tool_result')
  const media = others.flatMap(({ source }) => (source?.media_type ? [source.media_type] : []))
  const calls = others
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) }))
  const toolMessages = results.map((result) => ({
    ...plain('tool', textOfParts(result.content)),
    callId: result.tool_use_id,
  }))
  if (others.length === 0) return toolMessages
  return [...toolMessages, { ...plain(role, textOfParts(others)), calls, ...(media.length > 0 && { media }) }]
}

function plain(role: WireMessage['role'], content: string): WireMessage {
  return { role, content, calls: [], callId: null }
}

interface Block {
  begin: object
  deltas: object[]
  index?: number
}

function textBlocks({ text = '', thinking, signature, refusal = '' }: ProviderAnswer): Block[] {
  const blocks: Block[] = []
  if (thinking !== undefined) {
    const deltas: object[] = splitIntoPieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece }))
    if (signature !== undefined) deltas.push({ type: 'signature_delta', signature })
    blocks.push({ begin: { type: 'thinking', thinking: '', signature: '' }, deltas })
  }
  const shown = text + refusal
  if (shown !== '')
    blocks.push({
      begin: { type: 'text', text: '' },
      deltas: splitIntoPieces(shown).map((piece) => ({ type: 'text_delta', text: piece })),
    })
  return blocks
}

function callBlocks(answer: ProviderAnswer): Block[] {
  return callsToSend(answer).map((call) => ({
    begin: { type: 'tool_use', id: call.id, name: call.name, input: {} },
    deltas: splitIntoPieces(argumentsOf(call)).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    ...(answer.faults?.indexes === 'same' && { index: 0 }),
  }))
}

/** Cached tokens are counted separately from the input. */
function wireUsage({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens = 0 }: TokenCounts) {
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    output_tokens: outputTokens,
  }
}
