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
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
}

/** Google's streaming generateContent: candidates in pieces; the last has the finish reason, and there is no end event. */
export const geminiWire: WireFormat = {
  read(body, path) {
    const model = /\/models\/([^/:]+):streamGenerateContent/.exec(path)?.[1]
    const { systemInstruction, contents, tools, generationConfig } = (body ?? {}) as GeminiBody
    if (model === undefined || !Array.isArray(contents)) return undefined
    const prompt: WireMessage[] = systemInstruction ? [plain('system', textOfParts(systemInstruction.parts))] : []
    const limit = generationConfig?.maxOutputTokens
    return {
      model,
      messages: [...prompt, ...contents.flatMap(readContent)],
      tools: (Array.isArray(tools) ? tools : []).flatMap((tool) => tool?.functionDeclarations ?? []),
      maxTokens: typeof limit === 'number' ? limit : null,
    }
  },
  key: (headers) => String(headers['x-goog-api-key'] ?? ''),
  refusal: (code, message) => ({ error: { code, message, status: code === 429 ? 'RESOURCE_EXHAUSTED' : 'ERROR' } }),
  write(answer, model, usage) {
    const common = { responseId: 'resp-1', modelVersion: model }
    const chunk = (parts: object[], more: object = {}) =>
      dataEvent({ ...common, candidates: [{ index: 0, content: { role: 'model', parts }, ...more }] })
    const finish = finishOf(answer)
    const end = {
      ...common,
      candidates: [
        { index: 0, content: { role: 'model', parts: [{ text: '' }] }, finishReason: reasons[finish] ?? finish },
      ],
      ...(!answer.faults?.noUsage && { usageMetadata: wireUsage(usage) }),
    }
    return {
      content: [...partsOf(answer).map((part) => chunk([part])), dataEvent(end)],
      counted: [],
      last: [],
      text: (text) => chunk([{ text }]),
      error: (error) => dataEvent({ error: wireError(error) }),
    }
  },
}

interface GeminiBody {
  systemInstruction?: { parts?: unknown }
  contents?: { role?: string; parts?: Record<string, never>[] }[]
  tools?: { functionDeclarations?: { name: string }[] }[]
  generationConfig?: { maxOutputTokens?: unknown }
}

function wireError(error: unknown): object {
  const { code = 503, message = 'an error' } = (typeof error === 'string' ? { message: error } : error) as {
    code?: number
    message?: string
  }
  return { code, message, status: 'ERROR' }
}

function readContent({ role, parts = [] }: { role?: string; parts?: Record<string, never>[] }): WireMessage[] {
  const answers = parts.flatMap(({ functionResponse }) =>
    functionResponse
      ? [{ ...plain('tool', responseText(functionResponse['response'])), callId: String(functionResponse['id'] ?? '') }]
      : [],
  )
  if (answers.length > 0) return answers
  const media = parts.flatMap(({ inlineData }) => (inlineData ? [String(inlineData['mimeType'])] : []))
  const calls = parts.flatMap(({ functionCall }) =>
    functionCall
      ? [
          {
            id: String(functionCall['id'] ?? ''),
            name: String(functionCall['name']),
            arguments: JSON.stringify(functionCall['args'] ?? {}),
          },
        ]
      : [],
  )
  const who = role === 'model' ? 'assistant' : 'user'
  return [{ ...plain(who, textOfParts(parts)), calls, ...(media.length > 0 && { media }) }]
}

function responseText(response: unknown): string {
  const { content } = (response ?? {}) as { content?: unknown }
  return typeof content === 'string' ? content : JSON.stringify(response)
}

function plain(role: WireMessage['role'], content: string): WireMessage {
  return { role, content, calls: [], callId: null }
}

function partsOf(answer: ProviderAnswer): object[] {
  const { text = '', thinking = '', refusal = '', signature } = answer
  return [
    ...splitIntoPieces(thinking).map((piece) => ({ text: piece, thought: true })),
    ...splitIntoPieces(text + refusal).map((piece) => ({ text: piece })),
    // Calls are sent whole; this format cannot carry arguments that are not JSON.
    ...callsToSend(answer).map((call, place) => ({
      functionCall: { ...(call.id !== '' && { id: call.id }), name: call.name, args: JSON.parse(argumentsOf(call)) },
      ...((call.signature ?? (place === 0 ? signature : undefined)) !== undefined && {
        thoughtSignature: call.signature ?? signature,
      }),
    })),
  ]
}

function wireUsage({ inputTokens, outputTokens, cachedTokens }: TokenCounts): object {
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens,
    totalTokenCount: inputTokens + outputTokens,
    cachedContentTokenCount: cachedTokens,
  }
}
