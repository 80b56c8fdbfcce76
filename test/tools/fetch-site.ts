import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from 'node:net'
import type { Clock } from '../../src/domain/clock.ts'
import type { FetchLimits, FetchResult } from '../../src/domain/tools/fetch.ts'
import { systemClock } from '../../src/system.ts'
import type { Lookup } from '../../src/tools/fetch/fetch-target.ts'
import { safeFetch } from '../../src/tools/fetch/safe-fetch.ts'
import { certificate, key } from './fetch-certificate.ts'

/** A server on this machine that keeps a log of all that reached it. */
export interface Site {
  port: number
  /** `http://site.test:PORT`, or with `https`. */
  origin: string
  connections: Socket[]
  requests: IncomingMessage[]
  close(): Promise<void>
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export async function startSite(answer: Answer, { host = '127.0.0.1', port = 0, secure = false } = {}): Promise<Site> {
  const requests: IncomingMessage[] = []
  const logged: Answer = (request, response) => {
    requests.push(request)
    answer(request, response)
  }
  const server = secure ? createSecureServer({ cert: certificate, key }, logged) : createServer(logged)
  return started(server, requests, { host, port, scheme: secure ? 'https' : 'http' })
}

/** A server that speaks as it likes, once it was asked something. */
export async function startRawSite(speak: (socket: Socket) => void): Promise<Site> {
  const server = createRawServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => speak(socket))
  })
  return started(server, [], { host: '127.0.0.1', port: 0, scheme: 'http' })
}

async function started(
  server: Server,
  requests: IncomingMessage[],
  { host, port, scheme }: { host: string; port: number; scheme: string },
): Promise<Site> {
  const connections: Socket[] = []
  server.on('connection', (socket) => connections.push(socket))
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const listening = (server.address() as AddressInfo).port
  return {
    port: listening,
    origin: `${scheme}://site.test:${listening}`,
    connections,
    requests,
    async close() {
      for (const socket of connections) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The servers of one test file; `close` ends those that were started since. */
export function sitesOfTests() {
  const started: Site[] = []
  const kept = async (starting: Promise<Site>) => {
    const site = await starting
    started.push(site)
    return site
  }
  return {
    site: (...given: Parameters<typeof startSite>) => kept(startSite(...given)),
    rawSite: (...given: Parameters<typeof startRawSite>) => kept(startRawSite(...given)),
    async close() {
      await Promise.all(started.splice(0).map((site) => site.close()))
    },
  }
}

export interface Ask extends FetchLimits {
  allow?: string[]
  lookup?: Lookup
  clock?: Clock
  signal?: AbortSignal
}

/** Fetches with a resolver that says this machine for every name. */
export function get(
  url: string,
  { allow = [], lookup = here, clock = systemClock, signal, ...limits }: Ask = {},
): Promise<FetchResult> {
  return safeFetch({ clock, allow, lookup })(url, signal ?? new AbortController().signal, limits)
}

/** Likewise, from a server that the owner opened. */
export const open = (url: string, { origin }: Site, more: Ask = {}) => get(url, { allow: [origin], ...more })

export const here: Lookup = async () => ['127.0.0.1']

/** Fails a test that looks up a name at all. */
export const noLookup: Lookup = async (host) => {
  throw new Error(`${host} was looked up`)
}

/** What a refusal says, by code and message; fails when there is none. */
export async function refusal(fetching: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await fetching.then(
    () => undefined,
    (reason) => reason,
  )
  return { code: String(error?.code), message: String(error?.message) }
}
