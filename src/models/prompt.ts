import { isTextFile, whyRefused } from '../domain/attachment.ts'
import type { Part, ThinkingConfig } from '../domain/message.ts'
import type { Model, ModelMessage, ModelRequest } from '../domain/model.ts'
import type { CallOptions, ProviderKind, ProviderMetadata, ProviderPrompt } from './provider-package.ts'
import { type KeptPart, keptParts } from './reply-metadata.ts'
import { decoded } from './usage.ts'

type UserContent = Extract<ProviderPrompt[number], { role: 'user' }>['content']
type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>
type AssistantContent = Extract<ProviderPrompt[number], { role: 'assistant' }>['content']

/** What decides how a request is put, besides the request. */
export interface Asked extends Pick<Model, 'name' | 'sees' | 'readsPdf' | 'thinks'> {
  kind: ProviderKind
  /** What the owner set for this model; a request's own wish goes first. */
  thinking?: ThinkingConfig['level']
}

const cached: ProviderMetadata = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** A request in the words of the provider packages. */
export function callOptions(request: ModelRequest, asked: Asked): CallOptions {
  const { tools } = request
  const reasoning = reasoningOf(request.thinking?.level ?? asked.thinking, asked)
  return {
    prompt: promptOf(request, asked),
    maxOutputTokens: request.maxOutputTokens,
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function' as const, ...tool })) }),
    ...(reasoning && { reasoning }),
  }
}

/** Compatible servers refuse `none` more often than they honour it, and models that cannot think refuse any wish. */
function reasoningOf(level: ThinkingConfig['level'] | undefined, { kind, thinks }: Asked): CallOptions['reasoning'] {
  if (level === undefined || thinks === false) return undefined
  if (level !== 'off') return level
  return kind === 'openai-compatible' ? undefined : 'none'
}

function promptOf({ note, ...request }: ModelRequest, asked: Asked): ProviderPrompt {
  const lasting = lastingPrompt(request, asked)
  // Behind the last place that is kept: what is true only now must not make what comes before it new.
  return note === undefined ? lasting : [...lasting, promptMessage({ role: 'user', content: note }, asked)]
}

function lastingPrompt({ system, messages, stablePrefix }: ModelRequest, asked: Asked): ProviderPrompt {
  const lasting = messages.map((message, at) =>
    at < (stablePrefix ?? 0) ? withoutOwnThoughts(message, asked.kind) : message,
  )
  const prompt = lasting.map((message) => promptMessage(message, asked))
  const whole: ProviderPrompt = system === '' ? prompt : [{ role: 'system', content: system }, ...prompt]
  if (asked.kind !== 'anthropic' || stablePrefix === undefined) return whole
  // Kept up to three places: the prompt with the tools, what every later turn begins with, and this run so far.
  const before = whole.length - messages.length
  const places = new Set([before - 1, before + stablePrefix - 1, whole.length - 1])
  return whole.map((message, at) => (places.has(at) ? { ...message, providerOptions: cached } : message))
}

/** Thoughts that nobody signed belong to their own turn: servers that take them back want none of earlier ones. */
function withoutOwnThoughts(message: ModelMessage, kind: ProviderKind): ModelMessage {
  if (message.role !== 'assistant') return message
  const kept = keptParts(message.metadata, kind, message) ?? []
  const parts = kept.filter((part) => part.type !== 'thinking' || part.metadata)
  return parts.length === kept.length ? message : { ...message, metadata: { from: kind, parts } }
}

function promptMessage(message: ModelMessage, asked: Asked): ProviderPrompt[number] {
  if (message.role === 'user') return { role: 'user', content: userContent(message, asked) }
  if (message.role === 'assistant') return { role: 'assistant', content: assistantContent(message, asked.kind) }
  const { callId, name, content } = message
  const output = { type: 'text' as const, value: content }
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: callId, toolName: name, output }] }
}

function userContent({ content, parts = [] }: { content: string; parts?: Part[] }, asked: Asked): UserContent {
  const said = parts.map((part) => partContent(part, asked))
  return content === '' && said.length > 0 ? said : [{ type: 'text', text: content }, ...said]
}

/** A part that this model cannot be given is told of, so that it does not answer as if it had not been there. */
function partContent(part: Part, asked: Asked): UserContent[number] {
  const why = whyRefused(part, asked)
  if (why !== undefined) return { type: 'text', text: `[left out: ${why}]` }
  if (part.type === 'file' && isTextFile(part))
    return { type: 'text', text: `[file ${part.path}]\n${decoded(part.data)}` }
  const data = { type: 'data' as const, data: part.data }
  return { type: 'file', mediaType: part.mediaType, data, ...(part.type === 'file' && { filename: part.path }) }
}

function assistantContent(message: AssistantMessage, kind: ProviderKind): AssistantContent {
  const { content, calls } = message
  const plain: KeptPart[] = calls.map((_, place) => ({ type: 'call', place }))
  if (content !== '') plain.unshift({ type: 'text', length: content.length })
  const kept = keptParts(message.metadata, kind, message) ?? plain
  let said = 0
  return kept.map((part) => {
    const options = part.metadata && { providerOptions: part.metadata }
    if (part.type === 'thinking') return { type: 'reasoning', text: part.text, ...options }
    if (part.type === 'call') return { ...callContent(message, part), ...options }
    const text = content.slice(said, said + part.length)
    said += part.length
    return { type: 'text', text, ...options }
  })
}

function callContent({ calls }: AssistantMessage, { place }: Extract<KeptPart, { type: 'call' }>) {
  const call = calls[place]
  if (!call) throw new Error(`a kept reply names call ${place}, which is not there`)
  return { type: 'tool-call' as const, toolCallId: call.id, toolName: call.name, input: call.input }
}
