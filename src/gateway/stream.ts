import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
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
      return `id: ${sent.event.cursor}\ndata: ${JSON.stringify(sent.event)}\n\n`
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
