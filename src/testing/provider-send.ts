import type { ServerResponse } from 'node:http'
import type { Clock } from '../domain/clock.ts'
import type { ProviderFaults } from './provider-wire.ts'

/**
 * Sends a reply with the faults it is to have, and tells whether all of it went out in good order. `beforeLast` is
 * called before the last bytes of one that does. Never rejects: a client that hangs up ends it.
 */
export async function sendReply(
  response: ServerResponse,
  bytes: Buffer,
  faults: ProviderFaults,
  clock: Clock,
  beforeLast: () => void,
): Promise<boolean> {
  const gone = new AbortController()
  const left = new Promise<void>((resolve) => response.once('close', resolve)).then(() => gone.abort())
  const send = (piece: Buffer | string) =>
    Promise.race([left, new Promise<void>((resolve) => response.write(piece, () => resolve()))])
  // Without chunks a body ends where its connection does.
  if (faults.cutQuietly) response.useChunkedEncodingByDefault = false
  response.writeHead(200, { 'content-type': 'text/event-stream', ...(faults.cutQuietly && { connection: 'close' }) })
  response.flushHeaders()

  while (faults.pings !== undefined && !gone.signal.aborted) {
    await send(': keep-alive\n\n')
    await clock.sleep(faults.pings, gone.signal)
  }
  if (faults.lineBytes !== undefined) await sendLine(faults.lineBytes, send, gone.signal)

  const end = Math.min(faults.cutAt ?? bytes.length, faults.silentAt ?? bytes.length, bytes.length)
  const isLost = faults.cutAt !== undefined && !faults.cutQuietly
  const isWhole = end === bytes.length && faults.silentAt === undefined && !isLost
  const step = faults.pieceBytes ?? Math.max(1, end)
  for (let at = 0; at < end && !gone.signal.aborted; at += step) {
    if (at > 0 && faults.pause !== undefined) await clock.sleep(faults.pause, gone.signal)
    if (isWhole && at + step >= end && !gone.signal.aborted) beforeLast()
    await send(bytes.subarray(at, Math.min(at + step, end)))
  }
  if (faults.silentAt !== undefined) await left
  if (isLost) response.socket?.destroy()
  else if (!gone.signal.aborted) await Promise.race([left, new Promise<void>((resolve) => response.end(resolve))])
  return isWhole && response.writableFinished
}

async function sendLine(length: number, send: (piece: Buffer | string) => Promise<void>, gone: AbortSignal) {
  const block = Buffer.alloc(64 * 1024, 'x')
  await send('data: {"choices":[{"delta":{"content":"')
  for (let rest = length; rest > 0 && !gone.aborted; rest -= block.length) {
    await send(block.subarray(0, Math.min(rest, block.length)))
  }
  await send('"}}]}\n\n')
}
