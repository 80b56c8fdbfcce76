import { partBytes as bytesOfPart } from '../../domain/attachment.ts'
import type { Part } from '../../domain/message.ts'
import type { Model, ModelMessage, ModelRequest, ToolSpec } from '../../domain/model.ts'
import { noUsage, type Usage } from '../../domain/turn.ts'

// Bytes, not characters: a three-byte character is rarely less than a token.
const defaultBytesPerToken = 4
const minBytesPerToken = 3
/** Overhead of a message, in bytes. */
const messageOverhead = 64
/** Size counted for an image, whatever its bytes: providers scale it down first. */
const imageBytes = 6400

type RequestContent = Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'note'>

/** Estimated tokens of a request, for deciding whether it fits; only the provider can count exactly. */
export function tokensOf(request: RequestContent): number {
  return Math.ceil(requestBytes(request) / defaultBytesPerToken)
}

/** Estimated tokens of a text. */
export function tokensOfText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / defaultBytesPerToken)
}

/** Upper bound of a call's usage, to reserve before the call. */
export function maxUsage(
  bytes: number,
  outputTokens: number,
  { price, costsNothing }: Pick<Model, 'price' | 'costsNothing'>,
): Usage {
  if (costsNothing) return noUsage
  const inputTokens = Math.ceil(bytes / minBytesPerToken)
  const dearest = Math.max(price.input, price.cacheWrite ?? 0)
  const costUsd = (inputTokens * dearest + outputTokens * price.output) / 1_000_000
  return { inputTokens, outputTokens, cachedTokens: 0, costUsd }
}

export function requestBytes({ system, messages, tools, note }: RequestContent): number {
  const messageBytes = messages.reduce((sum, message) => sum + bytesOfMessage(message), 0)
  const noteBytes = note === undefined ? 0 : weighMessage({ role: 'user', content: note })
  return Buffer.byteLength(system) + messageBytes + noteBytes + bytesOfTools(tools)
}

/** Messages do not change, and every later request of a conversation has them. */
const weighedMessages = new WeakMap<ModelMessage, number>()

export function bytesOfMessage(message: ModelMessage): number {
  const known = weighedMessages.get(message)
  if (known !== undefined) return known
  const bytes = weighMessage(message)
  weighedMessages.set(message, bytes)
  return bytes
}

function weighMessage(message: ModelMessage): number {
  const calls = message.role === 'assistant' && message.calls.length > 0 ? JSON.stringify(message.calls) : ''
  const parts = message.role === 'user' ? (message.parts ?? []) : []
  const attachmentBytes = parts.reduce((sum, part) => sum + estimatedPartBytes(part), 0)
  return messageOverhead + Buffer.byteLength(message.content) + Buffer.byteLength(calls) + attachmentBytes
}

function estimatedPartBytes(part: Part): number {
  return part.type === 'image' || part.mediaType.startsWith('image/') ? imageBytes : bytesOfPart(part)
}

/** Bytes of tools as a JSON list. */
export function bytesOfTools(tools: ModelRequest['tools']): number {
  return tools.length === 0 ? 0 : 1 + tools.reduce((sum, tool) => sum + bytesOfTool(tool) + 1, 0)
}

/** Specifications do not change, and every request has them. */
const weighed = new WeakMap<ToolSpec, number>()

function bytesOfTool(tool: ToolSpec): number {
  const known = weighed.get(tool)
  if (known !== undefined) return known
  const bytes = Buffer.byteLength(JSON.stringify(tool))
  weighed.set(tool, bytes)
  return bytes
}
