import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Follower, Sent } from './follower.ts'

/** Sends a follower what it is to be told, as server-sent events, no faster than it takes them. Must not throw. */
export async function sendTo(response: Pick<ServerResponse, keyof ServerResponse>, follower: Follower): Promise<void> {
  const { gone } = follower
  response.once('close', () => follower.leave())
  // One that does not even take its farewell holds a connection for nothing.
  gone.addEventListener('abort', () => response.writableEnded || response.destroy())
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  for (let sent = await follower.next(); sent; sent = await follower.next()) {
    if (!response.write(encoded(sent))) await once(response, 'drain', { signal: gone }).catch(() => undefined)
  }
  response.end()
  follower.leave()
}

/** Only durable events have an id: it is the cursor to go on from. */
export function encoded(sent: Sent): string {
  switch (sent.kind) {
    case 'event':
      return `id: ${sent.event.cursor}\ndata: ${JSON.stringify(sent.event)}\n\n`
    case 'live':
      return `event: live\ndata: ${JSON.stringify(sent.sign)}\n\n`
    case 'dropped':
      return `event: dropped\ndata: ${JSON.stringify(sent.last)}\n\n`
    case 'failed':
      return `event: failed\ndata: ${JSON.stringify(sent.refusal)}\n\n`
    case 'beat':
      return ': beat\n\n'
  }
}
