import type { ProviderAnswer, TokenCounts, Wire, WireName } from './provider-wire.ts'
import { chatWire } from './wire-chat.ts'
import { geminiWire } from './wire-gemini.ts'
import { messagesWire } from './wire-messages.ts'
import { responsesWire } from './wire-responses.ts'

/** Each format by its name. */
export const wires: Record<WireName, Wire> = {
  chat: chatWire,
  messages: messagesWire,
  responses: responsesWire,
  gemini: geminiWire,
}

/** A reply as server-sent events, and where in its bytes things are. */
export interface ReplyBytes {
  bytes: Buffer
  /** How many bytes the client must have got to know the usage; endless when it is never told. */
  usageEnd: number
  /** How many bytes make a whole reply, even if more would come. */
  wholeEnd: number
}

/** Writes an answer as a format does, with the faults it is to have. */
export function replyBytes(wire: WireName, answer: ProviderAnswer, model: string, usage: TokenCounts): ReplyBytes {
  const faults = answer.faults ?? {}
  const { said, counted, last, text, error } = wires[wire].write(answer, model, usage)
  const events = [...said]
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
  // Two formats say with a last event that the reply is whole; the others with its reason.
  const wholeEnd = wire === 'messages' || wire === 'responses' ? bytes.length : saidEnd
  const told = wire === 'responses' ? bytes.length : saidEnd + Buffer.concat(counted).length
  return { bytes, usageEnd: faults.noUsage ? Number.POSITIVE_INFINITY : told, wholeEnd }
}

function halfCharacter(event: Buffer): Buffer {
  const at = event.indexOf('é')
  return Buffer.concat([event.subarray(0, at + 1), event.subarray(at + 2)])
}
