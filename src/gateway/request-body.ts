import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'

// Attachments are base64 in the body.
const maxBodyBytes = 32 * 1024 * 1024
const maxLineBytes = 64 * 1024 * 1024
/** Max time for a whole JSON body, and between two pieces of a stream of lines. */
const bodyTimeout: Millis = 30_000

/** Bounds of a JSON body. */
interface BodyLimits {
  bytes: number
  timeout: Millis
}

const bodyLimits: BodyLimits = { bytes: maxBodyBytes, timeout: bodyTimeout }

/** Bounds for a sender who has not proved who it is. */
export const unauthenticatedLimits: BodyLimits = { bytes: 4096, timeout: 5_000 }

export type HttpEnv = { Bindings: HttpBindings }
export type HttpContext = Context<HttpEnv>

/** Reads a JSON body. Requires its content type: a foreign web page cannot make a browser send that. */
export async function jsonBody(c: HttpContext, clock: Clock, limits = bodyLimits): Promise<unknown> {
  if (!/^application\/json(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new UsageError('the body is not JSON', 'send it with content-type: application/json', 'bad_request')
  if (Number(c.req.header('content-length') ?? 0) > limits.bytes) throw bodyTooLarge(limits.bytes)
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of piecesOf(c, clock, { isWhole: true, timeout: limits.timeout })) {
    bytes += piece.length
    // The server discards the rest.
    if (bytes > limits.bytes) throw bodyTooLarge(limits.bytes)
    pieces.push(piece)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    throw new UsageError('the body is not JSON', 'send one JSON object', 'bad_request')
  }
}

/** Reads a body line by line, as it comes; of any length, though not in one line. Throws if lines are not expected. */
export async function* lineBody(c: HttpContext, clock: Clock, isExpected: boolean): AsyncIterable<string> {
  if (!isExpected) throw new Error('this route takes no lines')
  if (!/^application\/x-ndjson(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new UsageError('the body is not lines of JSON', 'send content-type: application/x-ndjson', 'bad_request')
  // The parts of a line that has not ended; joined once, since a line may be long.
  let parts: Buffer[] = []
  let bytes = 0
  const line = () => Buffer.concat(parts).toString('utf8')
  for await (const piece of piecesOf(c, clock, { isWhole: false, timeout: bodyTimeout })) {
    let from = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      parts.push(piece.subarray(from, end))
      yield line()
      parts = []
      bytes = 0
      from = end + 1
    }
    parts.push(piece.subarray(from))
    bytes += piece.length - from
    if (bytes > maxLineBytes) throw bodyTooLarge(maxLineBytes)
  }
  if (bytes > 0) yield line()
}

/** The pieces of a body; one that does not come in time ends the connection. */
async function* piecesOf(
  c: HttpContext,
  clock: Clock,
  { isWhole, timeout }: { isWhole: boolean; timeout: Millis },
): AsyncIterable<Buffer> {
  const { incoming } = c.env
  let waiting = new AbortController()
  const watch = () => {
    const { signal } = waiting
    void clock.sleep(timeout, signal).then(() => signal.aborted || incoming.destroy(new Error('too slow')))
  }
  // With a reason: creating the default AbortError is slow.
  const unwatch = () => waiting.abort('read')
  watch()
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) {
      if (!isWhole) unwatch()
      yield piece
      if (isWhole) continue
      waiting = new AbortController()
      watch()
    }
  } catch (error) {
    throw incoming.complete || error instanceof HeddleError ? error : clientGone(error)
  } finally {
    unwatch()
  }
}

/** The client hung up while sending its body. */
function clientGone(cause: unknown): HeddleError {
  return new HeddleError('client_gone', 'the client hung up before its request was complete', 'send it again', {
    retry: 'later',
    cause,
  })
}

function bodyTooLarge(bytes: number): UsageError {
  const size = bytes < 1024 * 1024 ? `${bytes / 1024} kB` : `${bytes / 1024 / 1024} MB`
  return new UsageError(
    `the body is larger than ${size}`,
    'put what is long into a file, and name the file',
    'too_large',
  )
}
