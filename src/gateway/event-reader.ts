import type { IncomingMessage } from 'node:http'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Dropped, Refusal, Told } from './api.ts'

/** Without a sign of life for this long the connection is taken for dead. */
const silence: Millis = 60_000
const pause: Millis = 200

export interface Reading {
  clock: Clock
  after?: string
  signal: AbortSignal
  /** Begins a stream after this cursor. */
  open(after: string | undefined, signal: AbortSignal): Promise<IncomingMessage>
}

/**
 * Reads server-sent events for as long as there is someone to read from: after a connection was lost, or dropped for
 * being slow, it goes on from the last cursor, so that no event is missed and none comes twice.
 */
export async function* readTellings({ clock, after, signal, open }: Reading): AsyncIterable<Told> {
  let cursor = after
  while (!signal.aborted) {
    let brought = 0
    try {
      for await (const { event, data } of messagesOf(await open(cursor, signal))) {
        if (event === 'dropped') {
          cursor = (JSON.parse(data) as Dropped).cursor ?? cursor
          break
        }
        if (event === 'failed') throw failure(JSON.parse(data))
        const told: Told | undefined = toldIn(event, data)
        if (!told) continue
        brought++
        if (told.kind === 'event') cursor = told.event.cursor
        yield told
        if (signal.aborted) return
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof HeddleError) throw error
      // The connection broke: whoever is there answers the next request, or nobody does.
    }
    if (brought === 0) await clock.sleep(pause, signal)
  }
}

function toldIn(event: string, data: string): Told | undefined {
  if (event === 'message') return { kind: 'event', event: JSON.parse(data) }
  return event === 'live' ? { kind: 'live', sign: JSON.parse(data) } : undefined
}

/** The messages of one stream; throws when it breaks off. */
export async function* messagesOf(response: IncomingMessage): AsyncIterable<{ event: string; data: string }> {
  response.setEncoding('utf8')
  response.socket.setTimeout(silence, () => response.destroy(new Error('silent')))
  let rest = ''
  for await (const piece of response) {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string) =>
        block
          .split('\n')
          .filter((line) => line.startsWith(`${name}: `))
          .map((line) => line.slice(name.length + 2))
          .join('\n')
      const data = field('data')
      if (data !== '') yield { event: field('event') || 'message', data }
    }
  }
}

function failure({ error }: Refusal): HeddleError {
  return new HeddleError(error.code, error.message, error.remedy, { retry: error.retry })
}
