import type { IncomingMessage } from 'node:http'
import { UsageError } from '../../domain/errors.ts'
import type { Credential } from './credential.ts'

/** Names under which this server may be asked: what a browser puts into `Host`, in small letters. */
export interface AllowedHosts {
  has(host: string): boolean
  scheme: 'http' | 'https'
}

/** Host headers for the address that is listened on, and for the names that the owner configured. */
export function ownHosts(
  { bind, port, names }: { bind: string; port: number; names: readonly string[] },
  scheme: AllowedHosts['scheme'],
): AllowedHosts {
  const loopback = ['127.0.0.1', 'localhost', '[::1]']
  const own = isAnyAddress(bind) ? loopback : [...loopback, bind.includes(':') ? `[${bind}]` : bind]
  const withPort = [...own, ...names].map((name) => `${name.toLowerCase()}:${port}`)
  // A browser leaves out the port that belongs to the scheme, such as that of a proxy before this server.
  const plain = port === (scheme === 'https' ? 443 : 80) ? [...own, ...names] : names
  const all = new Set([...withPort, ...plain.map((name) => name.toLowerCase())])
  return { has: (host) => all.has(host), scheme }
}

/** Facts about a path, known before its sender is authenticated. */
interface PathFacts {
  isPage: boolean
  /** Answered to anyone. */
  isOpen: boolean
}

/**
 * Refuses, by the headers alone, what no client of ours sends: another name for this server (DNS rebinding), and requests
 * that another web page caused. A link on another page may still open ours, which holds nothing before its own requests.
 */
export function assertSameOrigin(request: IncomingMessage, hosts: AllowedHosts, { isPage, isOpen }: PathFacts): void {
  const { method = '', headers } = request
  const isReading = method === 'GET' || method === 'HEAD'
  if (!isReading && (method !== 'POST' || isOpen)) throw badMethod(method)
  // No route would read it, so nothing would end a body that comes a byte at a time.
  if (isReading && hasBody(request)) throw unwantedBody(method)
  const host = headers.host?.toLowerCase() ?? ''
  if (countHeader(request, 'host') !== 1 || !hosts.has(host)) throw unknownHost(host)
  const { origin } = headers
  if (origin !== undefined && origin !== `${hosts.scheme}://${host}` && origin !== `https://${host}`)
    throw foreignPage(`a page of ${origin.slice(0, 100)}`)
  const site = headers['sec-fetch-site']
  const isNavigation = isPage && headers['sec-fetch-mode'] === 'navigate'
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation)
    throw foreignPage('another page')
}

/** A browser sends its cookie for any page that asks: what changes something must prove that our page asked. */
export function assertOwnPage({ method, headers }: IncomingMessage, { isCookie }: Credential): void {
  if (!isCookie || method === 'GET' || method === 'HEAD') return
  // An origin that is there is ours: every other one was refused.
  if (headers.origin === undefined && headers['sec-fetch-site'] !== 'same-origin')
    throw foreignPage('a client that does not say which page it shows')
}

/** Whether an address can be reached from this machine only. */
export function isLoopbackAddress(address: string): boolean {
  return address === 'localhost' || address === '::1' || /^127\.\d+\.\d+\.\d+$/.test(address)
}

/** Whether a body follows the headers. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined
}

/** How often a header was sent: of several, `headers` has only the first. */
function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count++
  return count
}

function isAnyAddress(address: string): boolean {
  return address === '0.0.0.0' || address === '::'
}

function unknownHost(host: string): UsageError {
  const name = host === '' ? 'a request without a name' : `"${host.slice(0, 100)}"`
  return new UsageError(
    `${name} is not a name of this server`,
    'use the address that heddle up prints, or add the name to http.hosts in heddle.yaml',
    'unknown_host',
  )
}

function foreignPage(by: string): UsageError {
  return new UsageError(`this request was caused by ${by}`, 'open the page that heddle open prints', 'foreign_page')
}

function badMethod(method: string): UsageError {
  return new UsageError(`there is no ${method.slice(0, 20)} here`, 'use GET or POST', 'bad_method')
}

function unwantedBody(method: string): UsageError {
  return new UsageError(`a ${method} has no body`, 'send its fields in the address', 'bad_request')
}
