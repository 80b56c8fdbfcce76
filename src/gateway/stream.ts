import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { eventJson } from './event-json.ts'
import type { Follower, FollowerMessage } from './follower.ts'

/** Sends a follower's messages as server-sent events, with backpressure. Must not throw. */
export async function streamTo(
  response: Pick<ServerResponse, keyof ServerResponse>,
  follower: Follower,
): Promise<void> {
  const { gone } = follower
  response.once('close', () => follower.leave())
  // Close the connection of a follower that does not read its last message.
  gone.addEventListener('abort', () => response.writableEnded || response.destroy())
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  for (let sent = await follower.next(); sent; sent = await follower.next()) {
    if (!response.write(encodeSse(sent))) await once(response, 'drain', { signal: gone }).catch(() => undefined)
  }
  response.end()
  follower.leave()
}

/** Encodes a message. Only durable events have an id: the cursor to resume from. */
function encodeSse(sent: FollowerMessage): string {
  switch (sent.kind) {
    case 'event':
      return `id: ${sent.event.cursor}\ndata: ${eventJson(sent.event)}\n\n`
    case 'live':
      return `event: live\ndata: ${JSON.stringify(sent.delta)}\n\n`
    case 'dropped':
      return `event: dropped\ndata: ${JSON.stringify(sent.last)}\n\n`
    case 'failed':
      return `event: failed\ndata: ${JSON.stringify(sent.refusal)}\n\n`
    case 'beat':
      return ': beat\n\n'
  }
}

/**
 * Sends lines, or pieces of a text as JSON strings, as they come. Throws if there is no first one. A later failure breaks the connection,
 * so that a client never takes a part for the whole.
 */
export async function sendLines(
  response: Pick<ServerResponse, keyof ServerResponse>,
  lines: AsyncIterable<string>,
  form: 'lines' | 'pieces',
): Promise<void> {
  const iterator = lines[Symbol.asyncIterator]()
  const first = await iterator.next()
  async function* pieces() {
    for (let next = first; !next.done; next = await iterator.next())
      yield `${form === 'lines' ? next.value : JSON.stringify(next.value)}\n`
  }
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-store' })
  // A client that hangs up is no failure of ours, and one of the database was told to this client alone.
  await pipeline(Readable.from(pieces()), response as ServerResponse).catch(() => undefined)
  await iterator.return?.()
}
