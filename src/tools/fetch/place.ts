import { isIP } from 'node:net'
import { HeddleError } from '../../domain/errors.ts'
import { whyNotPublic } from './addresses.ts'

/** All addresses of a host name, as the machine knows them. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** Where a request goes: an address of the web, and the machine's addresses that were checked for it. */
export interface Place {
  url: URL
  addresses: readonly string[]
}

const longestUrl = 8192

/** The URL that a text means to the WHATWG rules, which know all the ways to write a host; refuses what is not the web's. */
export function webUrl(text: string, base?: URL): URL {
  const url = text.length > longestUrl ? null : URL.parse(text, base?.href)
  if (!url) throw unusable('this is not a URL', 'give a whole URL, such as https://example.com/page')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refused('only http and https are fetched', 'give a URL that starts with https://')
  if (url.username !== '' || url.password !== '')
    throw refused('the URL has a name or password in it, which are never sent', 'leave out what stands before the @')
  url.hash = ''
  return url
}

/**
 * Looks a host up, once, and checks every address it has: one that is not public spoils them all, since whoever answers
 * for the name chooses the order. Only these addresses may be connected to.
 */
export async function placeOf(url: URL, lookup: Lookup, opened: ReadonlySet<string>): Promise<Place> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isOpened = opened.has(url.origin)
  if (!isOpened) refuseByName(url, host)
  const addresses = isIP(host) ? [host] : await addressesOf(host, lookup)
  if (addresses.length === 0) throw unknownHost()
  const why = isOpened ? undefined : addresses.map(whyNotPublic).find((found) => found !== undefined)
  if (why !== undefined) throw notPublic(why)
  return { url, addresses }
}

function refuseByName({ port }: URL, host: string): void {
  if (/(^|\.)localhost\.?$/.test(host)) throw notPublic('this machine')
  if (port !== '' && otherPorts.has(Number(port)))
    throw refused(`port ${port} does not belong to the web`, 'fetch from a port that serves web pages')
}

async function addressesOf(host: string, lookup: Lookup): Promise<readonly string[]> {
  try {
    return await lookup(host)
  } catch (error) {
    throw unknownHost(error)
  }
}

/** Says nothing of the host or the address: after a redirect they are a stranger's words, and inside a network secrets. */
function notPublic(why: string): HeddleError {
  return refused(
    `the URL leads to an address that is not public (${why})`,
    'fetch a public page; only the owner can open others, by tools.fetch.allow in heddle.yaml',
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

/** Ports on which something else than the web answers: the list that browsers keep. */
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
