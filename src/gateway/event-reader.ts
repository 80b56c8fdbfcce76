import type { IncomingMessage } from 'node:http'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { DroppedFollower, Refusal, StreamItem } from './api.ts'

/** A connection without data for this long counts as dead. */
const silenceTimeout: Millis = 60_000
const reconnectPause: Millis = 200

/** Options of `readEventStream`. */
interface StreamOptions {
  clock: Clock
  after?: string
  signal: AbortSignal
  /** Opens a stream of events after this cursor. */
  open(after: string | undefined, signal: AbortSignal): Promise<IncomingMessage>
}

/**
 * Reads server-sent events while a daemon answers. After a lost connection, or one dropped for being slow, it resumes at
 * the last cursor, so that each event comes exactly once.
 */
export async function* readEventStream({ clock, after, signal, open }: StreamOptions): AsyncIterable<StreamItem> {
  let cursor = after
  while (!signal.aborted) {
    let received = 0
    try {
      for await (const { event, data } of readSseMessages(await open(cursor, signal))) {
        if (event === 'dropped') {
          cursor = (JSON.parse(data) as DroppedFollower).cursor ?? cursor
          break
        }
        if (event === 'failed') throw failure(JSON.parse(data))
        const item: StreamItem | undefined = parseStreamItem(event, data)
        if (!item) continue
        received++
        if (item.kind === 'event') cursor = item.event.cursor
        yield item
        if (signal.aborted) return
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof HeddleError) throw error
      // The connection broke: reconnect. If no daemon answers, `open` throws.
    }
    if (received === 0) await clock.sleep(reconnectPause, signal)
  }
}

function parseStreamItem(event: string, data: string): StreamItem | undefined {
  if (event === 'message') return { kind: 'event', event: JSON.parse(data) }
  return event === 'live' ? { kind: 'live', delta: JSON.parse(data) } : undefined
}

/** Messages of one response; throws if the connection breaks. */
export async function* readSseMessages(response: IncomingMessage): AsyncIterable<{ event: string; data: string }> {
  response.setEncoding('utf8')
  response.socket.setTimeout(silenceTimeout, () => response.destroy(new Error('silent')))
  let messages: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (message) => void messages.push(message) })
  for await (const piece of response) {
    parser.feed(piece)
    const whole = messages
    messages = []
    for (const { event = 'message', data } of whole) if (data !== '') yield { event, data }
  }
}

function failure({ error }: Refusal): HeddleError {
  return new HeddleError(error.code, error.message, error.remedy, { retry: error.retry })
}
