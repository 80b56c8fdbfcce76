import { isUtf8 } from 'node:buffer'
import { lookup as lookUp } from 'node:dns/promises'
import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Clock } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { FetchResult, SafeFetch } from '../../domain/tools/fetch.ts'
import { readBody } from './body.ts'
import { type FetchTarget, type Lookup, resolveTarget, webUrl } from './fetch-target.ts'
import { FetchTimer } from './fetch-timer.ts'

interface FetchPolicy {
  clock: Clock
  /** Non-public origins that the config allows, such as `http://127.0.0.1:8080`. */
  allow: readonly string[]
  lookup?: Lookup
}

const maxRedirects = 5
const bounds = { totalMs: 30_000, idleMs: 10_000 }
const maxHeaderBytes = 32_768
const redirects = [301, 302, 303, 307, 308]

/** Fetch for all URLs that come from models or untrusted content. */
export function safeFetch({ clock, allow, lookup = machineLookup }: FetchPolicy): SafeFetch {
  const allowedOrigins = new Set(allow.map((origin) => new URL(origin).origin))
  return async (text, signal, { staysOnHost = false } = {}) => {
    signal.throwIfAborted()
    const first = webUrl(text)
    const timer = new FetchTimer(clock, bounds, signal, tooSlow)
    try {
      return await followRedirects(first, timer, (url) => {
        if (staysOnHost && hostOf(url) !== hostOf(first) && !allowedOrigins.has(url.origin)) throw otherHost(url)
        return resolveTarget(url, lookup, allowedOrigins)
      })
    } catch (error) {
      throw timer.signal.aborted ? timer.signal.reason : toFailure(error)
    } finally {
      timer.end()
    }
  }
}

/** Many sites lead from their name to the same with `www.`, or back. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^www\./, '')
}

function otherHost({ href }: URL): HeddleError {
  return new HeddleError('forbidden', `the URL leads to another site: ${href}`, 'fetch that URL; the user may be asked')
}

/** Follows redirects; each target is looked up and checked like the first. */
async function followRedirects(
  first: URL,
  timer: FetchTimer,
  check: (url: URL) => Promise<FetchTarget>,
): Promise<FetchResult> {
  let url = first
  for (let count = 0; count <= maxRedirects; count++) {
    const target = await timer.until(check(url))
    timer.heard()
    const response = await timer.until(requestTarget(target, timer.signal))
    timer.heard()
    try {
      const next = redirects.includes(response.statusCode ?? 0) ? response.headers.location : undefined
      if (next === undefined) return toFetched(url, response, await readBody(response, () => timer.heard()))
      url = webUrl(asUtf8(next), url)
    } finally {
      response.destroy()
    }
  }
  throw failure(`the URL redirects more than ${maxRedirects} times`, 'fetch the page that it should lead to')
}

/** Sends one request, only to the checked addresses: no DNS lookup happens here. */
function requestTarget({ url, addresses }: FetchTarget, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const request = (url.protocol === 'https:' ? overHttps : overHttp)({
    host,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    lookup: fixedLookup(addresses),
    servername: isIP(host) ? '' : host.replace(/\.$/, ''),
    // Regardless of NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    agent: false,
    maxHeaderSize: maxHeaderBytes,
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
    reject(failure('the server switched to a protocol other than HTTP', 'fetch another URL'))
  })
  request.on('error', reject)
  request.end()
  return promise
}

/** Lookup function that returns the checked addresses. */
function fixedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_, { all }, callback) => {
    if (all) callback(null, found)
    else callback(null, found[0]?.address ?? '', found[0]?.family)
  }
}

function toFetched(
  url: URL,
  { statusCode = 0, headers }: IncomingMessage,
  read: Pick<FetchResult, 'body' | 'isCut'>,
): FetchResult {
  return { url: url.href, status: statusCode, contentType: headers['content-type'] ?? '', ...read }
}

async function machineLookup(host: string): Promise<string[]> {
  return (await lookUp(host, { all: true })).map(({ address }) => address)
}

/** Node decodes headers as Latin-1; most servers write UTF-8. */
function asUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : header
}

/** Replaces a connection error's message, which may hold text from the server. */
function toFailure(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (error instanceof HeddleError || typeof code !== 'string') return error
  const { message, remedy } = failures.find(({ codes }) => codes.test(code)) ?? brokenOff
  return failure(`${message} (${code})`, remedy, error)
}

const brokenOff = { message: 'the connection broke off', remedy: 'try again later' }

const failures = [
  { codes: /^HPE_HEADER_OVERFLOW$/, message: 'the server sends too many headers', remedy: 'fetch another URL' },
  { codes: /^HPE_/, message: 'the server does not speak valid HTTP', remedy: 'check scheme and port of the URL' },
  {
    codes: /^(Z_|ERR_+(BROTLI|PADDING|FORMAT|ERROR))/,
    message: 'the response is not compressed correctly',
    remedy: 'fetch another URL',
  },
  {
    codes: /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/,
    message: 'the server has no valid certificate',
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
