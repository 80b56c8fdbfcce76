import { isTextFile, partRefusal } from '../../domain/attachment.ts'
import type { Part, ThinkingConfig } from '../../domain/message.ts'
import type { Model, ModelMessage, ModelRequest } from '../../domain/model.ts'
import type { CallOptions, ProviderKind, ProviderMetadata, ProviderPrompt } from '../provider-package.ts'
import { type ReplyPart, replayableParts } from './reply-metadata.ts'
import { decodeBase64 } from './usage.ts'

type UserContent = Extract<ProviderPrompt[number], { role: 'user' }>['content']
type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>
type AssistantContent = Extract<ProviderPrompt[number], { role: 'assistant' }>['content']

/** Model settings that affect how a request is sent. */
export interface PromptTarget extends Pick<Model, 'name' | 'sees' | 'readsPdf' | 'thinks' | 'thinking'> {
  kind: ProviderKind
}

const cached: ProviderMetadata = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** Converts a request to the options of the provider packages. */
export function callOptions(request: ModelRequest, target: PromptTarget): CallOptions {
  const { tools } = request
  const reasoning = reasoningOf(request.thinking?.level ?? target.thinking, target)
  return {
    prompt: promptOf(request, target),
    maxOutputTokens: request.maxOutputTokens,
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function' as const, ...tool })) }),
    ...(reasoning && { reasoning }),
  }
}

/** Compatible servers reject `none` more often than they support it; models that cannot think reject any level. */
function reasoningOf(
  level: ThinkingConfig['level'] | undefined,
  { kind, thinks }: PromptTarget,
): CallOptions['reasoning'] {
  if (level === undefined || thinks === false) return undefined
  if (level !== 'off') return level
  return kind === 'openai-compatible' ? undefined : 'none'
}

function promptOf({ note, ...request }: ModelRequest, target: PromptTarget): ProviderPrompt {
  const stable = stablePrompt(request, target)
  // After the last cache point: a note that changes each time must not invalidate the cache.
  return note === undefined ? stable : [...stable, promptMessage({ role: 'user', content: note }, target)]
}

function stablePrompt({ system, messages, stablePrefix }: ModelRequest, target: PromptTarget): ProviderPrompt {
  const stable = messages.map((message, at) =>
    at < (stablePrefix ?? 0) ? withoutUnsignedThoughts(message, target.kind) : message,
  )
  const prompt = stable.map((message) => promptMessage(message, target))
  const whole: ProviderPrompt = system === '' ? prompt : [{ role: 'system', content: system }, ...prompt]
  if (target.kind !== 'anthropic' || stablePrefix === undefined) return whole
  // Three cache points: the system prompt with the tools, the stable history, and this run so far.
  const before = whole.length - messages.length
  const cachePoints = new Set([before - 1, before + stablePrefix - 1, whole.length - 1])
  return whole.map((message, at) => (cachePoints.has(at) ? { ...message, providerOptions: cached } : message))
}

/** Removes unsigned thoughts of earlier turns: servers accept them back only within their own turn. */
function withoutUnsignedThoughts(message: ModelMessage, kind: ProviderKind): ModelMessage {
  if (message.role !== 'assistant') return message
  const replyParts = replayableParts(message.metadata, kind, message) ?? []
  const parts = replyParts.filter((part) => part.type !== 'thinking' || part.metadata)
  return parts.length === replyParts.length ? message : { ...message, metadata: { from: kind, parts } }
}

function promptMessage(message: ModelMessage, target: PromptTarget): ProviderPrompt[number] {
  if (message.role === 'user') return { role: 'user', content: userContent(message, target) }
  if (message.role === 'assistant') return { role: 'assistant', content: assistantContent(message, target.kind) }
  const { callId, name, content } = message
  const output = { type: 'text' as const, value: content }
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: callId, toolName: name, output }] }
}

function userContent({ content, parts = [] }: { content: string; parts?: Part[] }, target: PromptTarget): UserContent {
  const attached = parts.map((part) => partContent(part, target))
  return content === '' && attached.length > 0 ? attached : [{ type: 'text', text: content }, ...attached]
}

/** Replaces a part that this model cannot read by a note, so that it knows of it. */
function partContent(part: Part, target: PromptTarget): UserContent[number] {
  const why = partRefusal(part, target)
  if (why !== undefined) return { type: 'text', text: `[left out: ${why}]` }
  if (part.type === 'file' && isTextFile(part))
    return { type: 'text', text: `[file ${part.path}]\n${decodeBase64(part.data)}` }
  const data = { type: 'data' as const, data: part.data }
  return { type: 'file', mediaType: part.mediaType, data, ...(part.type === 'file' && { filename: part.path }) }
}

function assistantContent(message: AssistantMessage, kind: ProviderKind): AssistantContent {
  const { content, calls } = message
  const plain: ReplyPart[] = calls.map((_, place) => ({ type: 'call', place }))
  if (content !== '') plain.unshift({ type: 'text', length: content.length })
  const replyParts = replayableParts(message.metadata, kind, message) ?? plain
  let offset = 0
  return replyParts.map((part) => {
    const options = part.metadata && { providerOptions: part.metadata }
    if (part.type === 'thinking') return { type: 'reasoning', text: part.text, ...options }
    if (part.type === 'call') return { ...callContent(message, part), ...options }
    const text = content.slice(offset, offset + part.length)
    offset += part.length
    return { type: 'text', text, ...options }
  })
}

function callContent({ calls }: AssistantMessage, { place }: Extract<ReplyPart, { type: 'call' }>) {
  const call = calls[place]
  if (!call) throw new Error(`a stored reply refers to the missing call ${place}`)
  return { type: 'tool-call' as const, toolCallId: call.id, toolName: call.name, input: call.input }
}
