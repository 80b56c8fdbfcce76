import { bytesOf as bytesOfPart } from '../domain/attachment.ts'
import type { Part } from '../domain/message.ts'
import type { Model, ModelMessage, ModelRequest } from '../domain/model.ts'
import { noUsage, type Usage } from '../domain/turn.ts'

// Bytes, not characters: a character that takes three of them is rarely less than a token.
const usualBytesPerToken = 4
const fewestBytesPerToken = 3
/** What a message weighs besides its text. */
const perMessage = 64
/** What a picture is counted as, whatever its size in bytes: providers scale it down first. */
const perPicture = 6400

type Weighed = Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'note'>

/** What a request weighs, where only the provider can count: about right, for deciding whether it fits. */
export function tokensOf(request: Weighed): number {
  return Math.ceil(bytesOf(request) / usualBytesPerToken)
}

/** What a text weighs, about. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / usualBytesPerToken)
}

/** The most that a call may cost: for setting it aside before anyone knows. */
export function mostUsage(
  bytes: number,
  outputTokens: number,
  { price, costsNothing }: Pick<Model, 'price' | 'costsNothing'>,
): Usage {
  if (costsNothing) return noUsage
  const inputTokens = Math.ceil(bytes / fewestBytesPerToken)
  const dearest = Math.max(price.input, price.cacheWrite ?? 0)
  const costUsd = (inputTokens * dearest + outputTokens * price.output) / 1_000_000
  return { inputTokens, outputTokens, cachedTokens: 0, costUsd }
}

export function bytesOf({ system, messages, tools, note }: Weighed): number {
  const said = messages.reduce((sum, message) => sum + bytesOfMessage(message), 0)
  const noted = note === undefined ? 0 : bytesOfMessage({ role: 'user', content: note })
  return Buffer.byteLength(system) + said + noted + bytesOfTools(tools)
}

export function bytesOfMessage(message: ModelMessage): number {
  const calls = message.role === 'assistant' && message.calls.length > 0 ? JSON.stringify(message.calls) : ''
  const parts = message.role === 'user' ? (message.parts ?? []) : []
  const attached = parts.reduce((sum, part) => sum + weightOfPart(part), 0)
  return perMessage + Buffer.byteLength(message.content) + Buffer.byteLength(calls) + attached
}

function weightOfPart(part: Part): number {
  return part.type === 'image' || part.mediaType.startsWith('image/') ? perPicture : bytesOfPart(part)
}

export function bytesOfTools(tools: ModelRequest['tools']): number {
  return tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(tools))
}
