import { isUtf8 } from 'node:buffer'
import { lookup as lookUp } from 'node:dns/promises'
import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Clock } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Fetched, SafeFetch } from '../../domain/fetch.ts'
import { readBody } from './body.ts'
import { Patience } from './patience.ts'
import { type Lookup, type Place, placeOf, webUrl } from './place.ts'

export interface FetchPolicy {
  clock: Clock
  /** Origins that the owner opened although they are not public, such as `http://127.0.0.1:8080`. */
  allow: readonly string[]
  lookup?: Lookup
}

const mostRedirects = 5
const bounds = { totalMs: 30_000, idleMs: 10_000 }
const mostHeaderBytes = 32_768
const redirects = [301, 302, 303, 307, 308]

/** The fetch that everything uses whose addresses come from models or strangers. */
export function safeFetch({ clock, allow, lookup = machineLookup }: FetchPolicy): SafeFetch {
  const opened = new Set(allow.map((origin) => new URL(origin).origin))
  return async (text, signal) => {
    signal.throwIfAborted()
    const first = webUrl(text)
    const patience = new Patience(clock, bounds, signal, tooSlow)
    try {
      return await follow(first, patience, (url) => placeOf(url, lookup, opened))
    } catch (error) {
      throw patience.signal.aborted ? patience.signal.reason : named(error)
    } finally {
      patience.end()
    }
  }
}

/** Goes from redirect to redirect; each place is looked up and checked as the first one was. */
async function follow(first: URL, patience: Patience, check: (url: URL) => Promise<Place>): Promise<Fetched> {
  let url = first
  for (let count = 0; count <= mostRedirects; count++) {
    const place = await patience.until(check(url))
    patience.heard()
    const response = await patience.until(ask(place, patience.signal))
    patience.heard()
    try {
      const next = redirects.includes(response.statusCode ?? 0) ? response.headers.location : undefined
      if (next === undefined) return answered(url, response, await readBody(response, () => patience.heard()))
      url = webUrl(asUtf8(next), url)
    } finally {
      response.destroy()
    }
  }
  throw failure(`the URL redirects more than ${mostRedirects} times`, 'fetch the page that it should lead to')
}

/** Sends one request, to the addresses of the place and to no other: nothing is looked up here. */
function ask({ url, addresses }: Place, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const request = (url.protocol === 'https:' ? overHttps : overHttp)({
    host,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    lookup: answering(addresses),
    servername: isIP(host) ? '' : host.replace(/\.$/, ''),
    // Whatever the environment says.
    rejectUnauthorized: true,
    agent: false,
    maxHeaderSize: mostHeaderBytes,
    signal,
    headers: {
      host: url.host,
      'user-agent': 'heddle (web_fetch)',
      accept: 'text/html, application/json;q=0.9, text/*;q=0.8, */*;q=0.5',
      'accept-encoding': 'gzip, deflate, br',
      connection: 'close',
    },
  })
  request.on('response', resolve)
  request.on('upgrade', (_, socket) => {
    socket.destroy()
    reject(failure('the server wants to speak something else than HTTP', 'fetch another URL'))
  })
  request.on('error', reject)
  request.end()
  return promise
}

/** Stands where a connection would look its host up, and answers what was checked. */
function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_, { all }, tell) => {
    if (all) tell(null, found)
    else tell(null, found[0]?.address ?? '', found[0]?.family)
  }
}

function answered(
  url: URL,
  { statusCode = 0, headers }: IncomingMessage,
  read: Pick<Fetched, 'body' | 'isCut'>,
): Fetched {
  return { url: url.href, status: statusCode, contentType: headers['content-type'] ?? '', ...read }
}

async function machineLookup(host: string): Promise<string[]> {
  return (await lookUp(host, { all: true })).map(({ address }) => address)
}

/** Headers are read byte by byte; most servers write UTF-8 into them. */
function asUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : header
}

/** A failure in our words: those of a connection may hold what the server said. */
function named(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (error instanceof HeddleError || typeof code !== 'string') return error
  const { message, remedy } = failures.find(({ codes }) => codes.test(code)) ?? brokenOff
  return failure(`${message} (${code})`, remedy, error)
}

const brokenOff = { message: 'the connection broke off', remedy: 'try again later' }

const failures = [
  { codes: /^HPE_HEADER_OVERFLOW$/, message: 'the server sends too many headers', remedy: 'fetch another URL' },
  { codes: /^HPE_/, message: 'the server does not speak proper HTTP', remedy: 'check scheme and port of the URL' },
  {
    codes: /^(Z_|ERR_+(BROTLI|PADDING|FORMAT|ERROR))/,
    message: 'the answer is packed wrongly',
    remedy: 'fetch another URL',
  },
  {
    codes: /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/,
    message: 'the server cannot prove who it is',
    remedy: 'check the host',
  },
  {
    codes: /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)$/,
    message: 'the server cannot be reached',
    remedy: 'check host and port, or try again later',
  },
]

function tooSlow(why: string): HeddleError {
  return failure(`the server ${why}`, 'try again later, or fetch from elsewhere')
}

function failure(message: string, remedy: string, cause?: unknown): HeddleError {
  return new HeddleError('fetch_failed', message, remedy, { retry: 'later', cause })
}
