import type { ClientRequest, IncomingMessage } from 'node:http'
import { HeddleError, UsageError } from '../domain/errors.ts'
import type { Refusal } from './api.ts'

const maxReplyLength = 64 * 1024 * 1024

/** Where requests go, the private socket or an address of another machine, and on whose behalf: the owner's without a token. */
export type Address = ({ socket: string } | { url: string }) & { token?: string }

/** A request; lines are sent as they come. */
export interface DaemonRequest {
  verb: 'GET' | 'POST'
  path: string
  body?: object
  lines?: AsyncIterable<string>
  signal?: AbortSignal
}

/** Sends a request and reads its JSON answer. */
export async function ask<T>(address: Address, request: DaemonRequest): Promise<T> {
  return readJson<T>(await sendRequest(address, request))
}

/** Sends a request and resolves with a successful response; a refusal is thrown as its error. */
export async function sendRequest(address: Address, sending: DaemonRequest): Promise<IncomingMessage> {
  const { token } = address
  const isSecure = 'url' in address && address.url.startsWith('https:')
  // Loaded only when there is a daemon: loading it takes longer than starting Node.
  const { request } = await (isSecure ? import('node:https') : import('node:http'))
  const { verb, path, body, lines, signal } = sending
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = request({
      ...connectOptions(address),
      method: verb,
      path,
      agent: false,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(lines && { 'content-type': 'application/x-ndjson' }),
      },
      ...(signal && { signal }),
    })
    sent.on('error', (error) => reject('url' in address ? unreachable(address.url, error) : daemonGone(error)))
    sent.once('response', (response) => {
      if ((response.statusCode ?? 500) < 400) return resolve(response)
      readJson<Refusal>(response).then((refusal) => reject(errorFrom(refusal, response.statusCode)), reject)
    })
    if (lines) writeLines(sent, lines).catch(reject)
    else sent.end(text)
  })
}

/** Where Node connects to. */
function connectOptions(address: Address) {
  if ('socket' in address) return { socketPath: address.socket }
  const { hostname, port, protocol } = new URL(address.url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port || (protocol === 'https:' ? 443 : 80) }
}

/** Writes lines until the server answers; throws what their source throws. */
async function writeLines(sent: ClientRequest, lines: AsyncIterable<string>): Promise<void> {
  let isAnswered = false
  const moved = () =>
    new Promise<void>((resolve) => {
      for (const event of ['drain', 'response', 'close'] as const) sent.once(event, () => resolve())
    })
  sent.once('response', () => {
    isAnswered = true
  })
  try {
    for await (const line of lines) {
      if (isAnswered || sent.destroyed) return
      if (!sent.write(`${line}\n`)) await moved()
    }
    sent.end()
  } catch (error) {
    sent.destroy()
    throw error
  }
}

async function readJson<T>(response: IncomingMessage): Promise<T> {
  let text = ''
  try {
    for await (const piece of response.setEncoding('utf8')) {
      text += piece
      if (text.length > maxReplyLength) throw new Error('the answer is too long')
    }
    return JSON.parse(text)
  } catch (error) {
    throw daemonGone(error)
  }
}

/** The lines of a streamed answer; throws if the connection breaks before its end. */
export async function* streamedLines(response: IncomingMessage): AsyncIterable<string> {
  // The parts of a line that has not ended; joined once, since a line may be long.
  let parts: string[] = []
  try {
    for await (const piece of response.setEncoding('utf8')) {
      const [first = '', ...rest] = String(piece).split('\n')
      parts.push(first)
      for (const next of rest) {
        yield parts.join('')
        parts = [next]
      }
    }
  } catch (error) {
    throw daemonGone(error)
  }
  const last = parts.join('')
  if (last !== '') yield last
}

/** Whether the daemon ended or does not answer: the request may or may not have taken effect. */
export function isDaemonGone(error: unknown): boolean {
  return error instanceof HeddleError && error.code === 'daemon_gone'
}

function errorFrom({ error }: Refusal, status = 500): HeddleError {
  if (!error?.code) return daemonGone(new Error(`status ${status}`))
  if (error.code === 'no_route')
    return new HeddleError('no_route', `the daemon is of another version: ${error.message}`, 'restart it: heddle up')
  if (status === 400 || status === 413 || error.misuse) return new UsageError(error.message, error.remedy, error.code)
  return new HeddleError(error.code, error.message, error.remedy, { retry: error.retry })
}

/** No daemon answers at an address; a request that was under way may or may not have taken effect. */
function unreachable(url: string, cause: NodeJS.ErrnoException): HeddleError {
  const code = cause.code ?? ''
  if (/CERT|SELF_SIGNED|UNABLE_TO|TLS|ALTNAME/.test(code))
    return new HeddleError(
      'host_untrusted',
      `the certificate of ${url} is not trusted: ${cause.message}`,
      'name the certificate of its authority in NODE_EXTRA_CA_CERTS, or use the name that the certificate is for',
      { cause },
    )
  if (code === 'EPROTO' || code.startsWith('HPE_'))
    return new HeddleError(
      'host_unreachable',
      `${url} did not answer as expected (${code})`,
      'is it http:// or https://?',
      { cause },
    )
  const why =
    code === 'ENOTFOUND'
      ? 'there is no host of that name'
      : code === 'ECONNREFUSED'
        ? 'nothing listens there'
        : code || cause.message
  return new HeddleError(
    'daemon_gone',
    `cannot reach ${url}: ${why}`,
    'check the address, and that heddle up runs there',
    {
      retry: 'later',
      cause,
    },
  )
}

function daemonGone(cause: unknown): HeddleError {
  return new HeddleError('daemon_gone', 'the daemon no longer answers', 'start it again: heddle up', {
    retry: 'later',
    cause,
  })
}
