import type { IncomingMessage } from 'node:http'
import { pipeline, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { HeddleError } from '../../domain/errors.ts'

/** Max decompressed bytes of a body; the compressed form may be larger if compression did not help. */
const maxBodyBytes = 4_000_000
const maxSentBytes = 2 * maxBodyBytes

/**
 * Reads a body in chunks and stops at the limit, so that a decompression bomb or an endless body does no harm.
 */
export async function readBody(
  response: IncomingMessage,
  onData: () => void,
): Promise<{ body: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of decompress(response, onData)) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxBodyBytes) break
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBodyBytes), isCut: bytes > maxBodyBytes }
}

async function* decompress(response: IncomingMessage, onData: () => void): AsyncGenerator<Buffer> {
  const sent = limitSize(response, onData)
  const encoding = (response.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return yield* sent
  const { value: first, done } = await sent.next()
  if (done) return
  const decompressor = decompressorFor(encoding, first)
  const whole = (async function* () {
    yield first
    yield* sent
  })()
  yield* pipeline(whole, decompressor, () => undefined)
}

async function* limitSize(response: IncomingMessage, onData: () => void): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    onData()
    bytes += chunk.length
    if (bytes > maxSentBytes) throw unusableBody()
    yield chunk
  }
}

function decompressorFor(encoding: string, first: Buffer): Transform {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'br':
      return createBrotliDecompress()
    case 'deflate':
      // Some servers send raw deflate, without a zlib header.
      return ((first[0] ?? 0) & 15) === 8 ? createInflate() : createInflateRaw()
    default:
      throw new HeddleError(
        'fetch_unusable',
        'the response has an unsupported content encoding',
        'fetch the same content from elsewhere',
      )
  }
}

function unusableBody(): HeddleError {
  return new HeddleError(
    'fetch_unusable',
    `the server sent ${maxSentBytes} bytes that decompress to almost nothing`,
    'fetch a smaller page, or a part of it',
  )
}
