import { isIP } from 'node:net'
import { HeddleError } from '../../domain/errors.ts'
import { nonPublicReason } from './addresses.ts'

/** Resolves a host name to all its addresses. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** Target of a request: the URL, and the checked IP addresses of its host. */
export interface FetchTarget {
  url: URL
  addresses: readonly string[]
}

const maxUrlLength = 8192

/** Parses a URL by the WHATWG rules, which know all spellings of a host; refuses anything but http and https. */
export function webUrl(text: string, base?: URL): URL {
  const url = text.length > maxUrlLength ? null : URL.parse(text, base?.href)
  if (!url) throw unusable('this is not a URL', 'give a whole URL, such as https://example.com/page')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refused('only http and https are fetched', 'give a URL that starts with https://')
  if (url.username !== '' || url.password !== '')
    throw refused('the URL has a name or password in it, which are never sent', 'remove the part before the @')
  url.hash = ''
  return url
}

/**
 * Looks a host up once and checks all its addresses: one that is not public refuses them all, since the DNS server chooses
 * the order. Only these addresses may be connected to.
 */
export async function resolveTarget(
  url: URL,
  lookup: Lookup,
  allowedOrigins: ReadonlySet<string>,
): Promise<FetchTarget> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isAllowedOrigin = allowedOrigins.has(url.origin)
  if (!isAllowedOrigin) refuseByName(url, host)
  const addresses = isIP(host) ? [host] : await addressesOf(host, lookup)
  if (addresses.length === 0) throw unknownHost()
  const why = isAllowedOrigin ? undefined : addresses.map(nonPublicReason).find((found) => found !== undefined)
  if (why !== undefined) throw notPublic(why)
  return { url, addresses }
}

function refuseByName({ port }: URL, host: string): void {
  if (/(^|\.)localhost\.?$/.test(host)) throw notPublic('this machine')
  if (port !== '' && otherPorts.has(Number(port)))
    throw refused(`port ${port} is not a web port`, 'fetch from a port that serves web pages')
}

async function addressesOf(host: string, lookup: Lookup): Promise<readonly string[]> {
  try {
    return await lookup(host)
  } catch (error) {
    throw unknownHost(error)
  }
}

/** Does not name the host or the address: after a redirect they are untrusted content, and inside a network secrets. */
function notPublic(why: string): HeddleError {
  return refused(
    `the URL leads to an address that is not public (${why})`,
    'fetch a public page; only the user can allow others, with tools.fetch.allow in heddle.yaml',
  )
}

function unknownHost(cause?: unknown): HeddleError {
  const remedy = 'check how the host is spelled, or try again later'
  return new HeddleError('fetch_failed', 'the host has no address', remedy, { retry: 'later', cause })
}

function refused(message: string, remedy: string): HeddleError {
  return new HeddleError('forbidden', message, remedy)
}

function unusable(message: string, remedy: string): HeddleError {
  return new HeddleError('fetch_unusable', message, remedy)
}

/** Ports of other services: the list of blocked ports in browsers. */
const otherPorts = new Set([
  ...[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110,
  ],
  ...[
    111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  ],
  ...[540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061],
  ...[6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
])
