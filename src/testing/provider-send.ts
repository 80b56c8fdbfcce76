import type { ServerResponse } from 'node:http'
import type { Clock } from '../domain/clock.ts'
import type { ProviderFaults } from './provider-wire.ts'

/**
 * Sends a reply with its faults and returns whether it was sent completely. Calls `beforeLast` before the last bytes of a
 * complete reply. Never rejects: a client that disconnects ends it.
 */
export async function sendReply(
  response: ServerResponse,
  bytes: Buffer,
  faults: ProviderFaults,
  clock: Clock,
  beforeLast: () => void,
): Promise<boolean> {
  const aborted = new AbortController()
  const closed = new Promise<void>((resolve) => response.once('close', resolve)).then(() => aborted.abort())
  const send = (piece: Buffer | string) =>
    Promise.race([closed, new Promise<void>((resolve) => response.write(piece, () => resolve()))])
  // Without chunked encoding the body ends with the connection.
  if (faults.cutQuietly) response.useChunkedEncodingByDefault = false
  response.writeHead(200, { 'content-type': 'text/event-stream', ...(faults.cutQuietly && { connection: 'close' }) })
  response.flushHeaders()

  while (faults.pings !== undefined && !aborted.signal.aborted) {
    await send(': keep-alive\n\n')
    await clock.sleep(faults.pings, aborted.signal)
  }
  if (faults.lineBytes !== undefined) await sendLine(faults.lineBytes, send, aborted.signal)

  const end = Math.min(faults.cutAt ?? bytes.length, faults.silentAt ?? bytes.length, bytes.length)
  const isLost = faults.cutAt !== undefined && !faults.cutQuietly
  const isWhole = end === bytes.length && faults.silentAt === undefined && !isLost
  const step = faults.pieceBytes ?? Math.max(1, end)
  for (let at = 0; at < end && !aborted.signal.aborted; at += step) {
    if (at > 0 && faults.pause !== undefined) await clock.sleep(faults.pause, aborted.signal)
    if (isWhole && at + step >= end && !aborted.signal.aborted) beforeLast()
    await send(bytes.subarray(at, Math.min(at + step, end)))
  }
  if (faults.silentAt !== undefined) await closed
  if (isLost) response.socket?.destroy()
  else if (!aborted.signal.aborted) await Promise.race([closed, new Promise<void>((resolve) => response.end(resolve))])
  return isWhole && response.writableFinished
}

async function sendLine(length: number, send: (piece: Buffer | string) => Promise<void>, aborted: AbortSignal) {
  const block = Buffer.alloc(64 * 1024, 'x')
  await send('data: {"choices":[{"delta":{"content":"')
  for (let rest = length; rest > 0 && !aborted.aborted; rest -= block.length) {
    await send(block.subarray(0, Math.min(rest, block.length)))
  }
  await send('"}}]}\n\n')
}
