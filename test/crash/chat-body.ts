/** A request for a reply, as far as the checks read it. */
export interface ChatBody {
  messages: ChatMessage[]
  max_tokens?: number
}

interface ChatMessage {
  role: string
  content: unknown
  tool_calls?: { id: string }[]
  tool_call_id?: string
}

interface Part {
  type: string
  text?: string
  id?: string
  tool_use_id?: string
  content?: unknown
}

/**
 * A request's body as the checks read it: in the shape of chat completions. In Anthropic's format the prompt stands beside
 * the messages, several inputs are parts of one message, and marks for its cache move from request to request.
 */
export function chatBody(body: ChatBody & { system?: Part[] }): ChatBody {
  if (!body.system) return body
  const prompt = { role: 'system', content: body.system.map(({ text }) => text).join('') }
  return { ...body, messages: [prompt, ...body.messages.flatMap(asChat)] }
}

function asChat({ role, content }: ChatMessage): ChatMessage[] {
  const parts: Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Part[])
  const results = parts
    .filter(({ type }) => type === 'tool_result')
    .map(({ tool_use_id = '', content: answer }) => ({ role: 'tool', content: answer, tool_call_id: tool_use_id }))
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]))
  if (role !== 'assistant') return [...results, ...texts.map((text) => ({ role, content: text }))]
  const calls = parts.filter(({ type }) => type === 'tool_use').map(({ id = '' }) => ({ id }))
  return [{ role, content: texts.join(''), ...(calls.length > 0 && { tool_calls: calls }) }]
}
