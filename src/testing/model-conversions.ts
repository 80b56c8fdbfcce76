import type { ModelReply, ModelRequest } from '../domain/model.ts'
import { argumentsOf, finishOf, type ProviderAnswer, type ProviderRequest } from './provider-wire.ts'

/** Converts a request of the Model port to a provider request. */
export function providerRequestOf({ system, messages, tools, maxOutputTokens }: ModelRequest): ProviderRequest {
  return {
    wire: 'chat',
    model: 'mediocre',
    messages: [
      { role: 'system', content: system, calls: [], callId: null },
      ...messages.map((message) => ({
        role: message.role,
        content: message.content,
        calls:
          message.role === 'assistant'
            ? message.calls.map(({ id, name, input }) => ({ id, name, arguments: argumentsOf({ name, input }) }))
            : [],
        callId: message.role === 'tool' ? message.callId : null,
      })),
    ],
    tools,
    maxTokens: maxOutputTokens,
    attempt: 0,
  }
}

/** Converts a provider answer to a scripted reply. Arguments that are not JSON are passed on as text. */
export function toScriptedReply(answer: ProviderAnswer): {
  text: string
  calls: { name: string; input: unknown }[]
  finish: ModelReply['finish']
} {
  const finishes: Record<string, ModelReply['finish']> = { tool_calls: 'calls', length: 'length', stop: 'stop' }
  return {
    text: answer.text ?? '',
    calls: (answer.calls ?? []).map((call) => ({ name: call.name, input: call.arguments ?? call.input ?? {} })),
    finish: finishes[finishOf(answer)] ?? 'refused',
  }
}
