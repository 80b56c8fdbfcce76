import type { IncomingMessage } from 'node:http'
import { pipeline, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { HeddleError } from '../../domain/errors.ts'

/** What is read of a body at most, unpacked; as it is sent it may be more where packing made it no smaller. */
const mostBodyBytes = 4_000_000
const mostSentBytes = 2 * mostBodyBytes

/**
 * Reads a body piece by piece and stops where enough is read: a bomb is never unpacked further than that, and an endless
 * body not read on.
 */
export async function readBody(
  response: IncomingMessage,
  heard: () => void,
): Promise<{ body: Buffer; isCut: boolean }> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of unpacked(response, heard)) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > mostBodyBytes) break
  }
  return { body: Buffer.concat(pieces).subarray(0, mostBodyBytes), isCut: bytes > mostBodyBytes }
}

async function* unpacked(response: IncomingMessage, heard: () => void): AsyncGenerator<Buffer> {
  const sent = counted(response, heard)
  const encoding = (response.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return yield* sent
  const { value: first, done } = await sent.next()
  if (done) return
  const unpack = unpackerOf(encoding, first)
  const whole = (async function* () {
    yield first
    yield* sent
  })()
  yield* pipeline(whole, unpack, () => undefined)
}

async function* counted(response: IncomingMessage, heard: () => void): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    heard()
    bytes += piece.length
    if (bytes > mostSentBytes) throw tooLarge()
    yield piece
  }
}

function unpackerOf(encoding: string, first: Buffer): Transform {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'br':
      return createBrotliDecompress()
    case 'deflate':
      // Some servers mean the bare format, which has no header of its own.
      return ((first[0] ?? 0) & 15) === 8 ? createInflate() : createInflateRaw()
    default:
      throw new HeddleError(
        'fetch_unusable',
        'the answer is packed in a way that was not asked for',
        'fetch the same content from elsewhere',
      )
  }
}

function tooLarge(): HeddleError {
  return new HeddleError(
    'fetch_unusable',
    `the server sent ${mostSentBytes} bytes in which there is next to nothing`,
    'fetch a smaller page, or a part of it',
  )
}
