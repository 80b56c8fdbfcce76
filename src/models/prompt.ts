import type { ModelMessage, ModelRequest } from '../domain/model.ts'
import type { CallOptions, ProviderPrompt } from './provider-package.ts'
import { isReplyMetadata } from './reply-metadata.ts'

/** A request in the words of the provider packages. */
export function callOptions(request: ModelRequest): CallOptions {
  const { thinking, tools } = request
  return {
    prompt: promptOf(request),
    maxOutputTokens: request.maxOutputTokens,
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function' as const, ...tool })) }),
    // Servers refuse `none` more often than they honour it, so thinking that is off is not mentioned.
    ...(thinking === undefined || thinking.level === 'off' ? {} : { reasoning: thinking.level }),
  }
}

function promptOf({ system, messages }: ModelRequest): ProviderPrompt {
  const prompt = messages.map(promptMessage)
  return system === '' ? prompt : [{ role: 'system', content: system }, ...prompt]
}

function promptMessage(message: ModelMessage): ProviderPrompt[number] {
  if (message.role === 'user') return { role: 'user', content: [{ type: 'text', text: message.content }] }
  if (message.role === 'tool') {
    const { callId, name, content } = message
    const output = { type: 'text' as const, value: content }
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId: callId, toolName: name, output }] }
  }
  const metadata = isReplyMetadata(message.metadata) ? message.metadata.calls : {}
  return {
    role: 'assistant',
    content: [
      ...(message.content === '' ? [] : [{ type: 'text' as const, text: message.content }]),
      ...message.calls.map(({ id, name, input }) => {
        const call = { type: 'tool-call' as const, toolCallId: id, toolName: name, input }
        const kept = metadata[id]
        return kept === undefined ? call : { ...call, providerOptions: kept }
      }),
    ],
  }
}
