import type { ProviderAnswer, TokenCounts, WireFormat, WireName } from './provider-wire.ts'
import { chatWire } from './wire-chat.ts'
import { geminiWire } from './wire-gemini.ts'
import { messagesWire } from './wire-messages.ts'
import { responsesWire } from './wire-responses.ts'

/** Wire formats by name. */
export const wires: Record<WireName, WireFormat> = {
  chat: chatWire,
  messages: messagesWire,
  responses: responsesWire,
  gemini: geminiWire,
}

/** A reply as server-sent events, with positions in its bytes. */
interface ReplyBytes {
  bytes: Buffer
  /** Bytes after which the client knows the usage; infinite when it is not sent. */
  usageEnd: number
  /** Bytes after which the reply is complete. */
  wholeEnd: number
}

/** Encodes an answer in a wire format, with its faults. */
export function replyBytes(wire: WireName, answer: ProviderAnswer, model: string, usage: TokenCounts): ReplyBytes {
  const faults = answer.faults ?? {}
  const { content, counted, last, text, error } = wires[wire].write(answer, model, usage)
  const events = [...content]
  const middle = Math.ceil(events.length / 2)
  const put = (event: Buffer) => events.splice(middle, 0, event)
  if (faults.brokenEvent) put(Buffer.from('data: {"type":"message_delta","choices":[{"delta":{"conten\n\n'))
  if (faults.errorEvent !== undefined) put(error(faults.errorEvent))
  if (faults.invalidUtf8) put(halfCharacter(text('é')))
  if (faults.unknownEvents)
    put(
      Buffer.from(
        'event: ping\ndata: {"type":"ping"}\n\nevent: novel\ndata: {"type":"novel"}\n\n: a comment\n\nnoise\n\n',
      ),
    )
  const ends = faults.noDone ? [] : last
  const saidEnd = Buffer.concat(events).length
  const bytes = Buffer.concat([...events, ...counted, ...ends])
  // Two formats end a reply with a last event, the others with the finish reason.
  const wholeEnd = wire === 'messages' || wire === 'responses' ? bytes.length : saidEnd
  const usageSent = wire === 'responses' ? bytes.length : saidEnd + Buffer.concat(counted).length
  return { bytes, usageEnd: faults.noUsage ? Number.POSITIVE_INFINITY : usageSent, wholeEnd }
}

function halfCharacter(event: Buffer): Buffer {
  const at = event.indexOf('é')
  return Buffer.concat([event.subarray(0, at + 1), event.subarray(at + 2)])
}
