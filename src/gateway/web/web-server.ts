import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { type RouteContext, routes } from '../http.ts'
import { refusalAnswer } from '../refusals.ts'
import type { Sender } from '../rights.ts'
import { ownRoutes } from '../routes/table.ts'
import { writeJson } from '../send-json.ts'
import {
  type AllowedHosts,
  assertOwnPage,
  assertSameOrigin,
  hasBody,
  isLoopbackAddress,
  ownHosts,
} from './admission.ts'
import { AdmittedTokens } from './admitted-tokens.ts'
import { cookieName, credentialOf } from './credential.ts'
import { builtPage, sendPage } from './page-files.ts'
import { setPageHeaders } from './page-headers.ts'
import { prometheusText, type ServerMetrics } from './prometheus.ts'
import { callerAddress, RateLimits } from './rate-limits.ts'
import { Readiness } from './readiness.ts'
import { ServerCounts } from './server-counts.ts'
import { type HomeFacts, signInRoutes } from './sign-in-routes.ts'

/** Time in which the headers of a request must have come. */
const headersTimeout: Millis = 5_000
const maxConnections = 4096
const maxHeaderSize = 16 * 1024
/** Ports that are tried after the preferred one, before any free one is taken. */
const nearbyPorts = 9

/** Where and how to listen. */
export interface WebSettings {
  bind: string
  port: number
  /** Whether another port is taken if this one is in use. */
  allowOtherPort: boolean
  /** Names besides the address under which this server is reached. */
  hosts: readonly string[]
  tls?: { cert: string; key: string }
  /** The owner wants an address that others reach, without TLS. */
  allowPlain: boolean
  requestsPerSecond: number
  /** Wrong tokens and codes of an address: guessing 256 bits is hopeless, and must not keep the database busy either. */
  failuresPerMinute: number
  home: HomeFacts
  /** Folder of the built page, if it is another than the package's. */
  pageFolder?: string
}

interface WebServer {
  /** Address of the page, without a path. */
  url: string
  stop(): Promise<void>
}

/** Serves the page and the routes over TCP. Every request is admitted by its headers before a byte of its body is read. */
export async function serveWeb(context: Omit<RouteContext, 'senderOf'>, settings: WebSettings): Promise<WebServer> {
  assertSafeBind(settings)
  const { tls } = settings
  const options = { headersTimeout, requestTimeout: 0, connectionsCheckingInterval: 1000, keepAliveTimeout: 5_000 }
  const server = tls
    ? createTlsServer({ ...options, ...tls, maxHeaderSize })
    : createServer({ ...options, maxHeaderSize })
  server.maxConnections = maxConnections
  const port = await listen(server, settings)
  const scheme = tls ? 'https' : 'http'
  const hosts = ownHosts({ bind: settings.bind, port, names: settings.hosts }, scheme)
  const admission = new TcpAdmission(context, { ...settings, hosts, cookie: cookieName(port) })
  server.on('request', (request, response) => void admission.answer(request, response))
  // Without this, Node asks for the body before anyone has looked at the headers.
  server.on('checkContinue', (request, response) => void admission.answer(request, response))
  server.on('error', context.onError)
  const [name] = settings.hosts
  return {
    url: `${scheme}://${name ?? hostIn(settings.bind)}:${port}`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

interface TcpAdmissionSettings
  extends Pick<WebSettings, 'requestsPerSecond' | 'failuresPerMinute' | 'pageFolder' | 'home'> {
  hosts: AllowedHosts
  cookie: string
}

/** Admits requests that come over TCP. */
class TcpAdmission {
  readonly #context: Omit<RouteContext, 'senderOf'>
  readonly #settings: TcpAdmissionSettings
  readonly #failures: RateLimits
  readonly #requests: RateLimits
  readonly #tokens: AdmittedTokens
  readonly #readiness: Readiness
  readonly #counts: ServerCounts
  readonly #senders = new WeakMap<IncomingMessage, Sender>()
  readonly #routes: (request: IncomingMessage, response: ServerResponse) => unknown

  constructor(context: Omit<RouteContext, 'senderOf'>, settings: TcpAdmissionSettings) {
    const { requestsPerSecond: perSecond, cookie, hosts } = settings
    this.#context = context
    this.#settings = settings
    this.#failures = new RateLimits(
      { burst: settings.failuresPerMinute, perSecond: settings.failuresPerMinute / 60 },
      context.clock,
    )
    this.#readiness = new Readiness(context.heddle, context.clock)
    this.#counts = new ServerCounts(context.hub)
    this.#requests = new RateLimits({ burst: 2 * perSecond, perSecond }, context.clock)
    this.#tokens = new AdmittedTokens(context.heddle, { failures: this.#failures, requests: this.#requests })
    const http = routes({ ...context, senderOf: async (request) => this.#senderOf(request) })
    signInRoutes(http, {
      ...context,
      home: settings.home,
      cookie,
      isSecure: hosts.scheme === 'https',
      senderOf: (request) => this.#senderOf(request),
      onSignIn: (token) => this.#tokens.add(token),
      onFailure: (request) => this.#failures.take(senderAddress(request)),
    })
    http.get(ownRoutes.metrics, async (c) => {
      const { principal } = this.#senderOf(c.env.incoming)
      const text = prometheusText(await context.heddle.as(principal).metrics(), this.#metrics())
      return c.body(text, 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
    })
    this.#routes = getRequestListener(http.fetch, { overrideGlobalObjects: false })
  }

  /** Answers a request, or refuses it and closes its connection. Must not throw. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    setPageHeaders(response)
    response.once('close', () => this.#counts.countAnswer(response.statusCode))
    try {
      const path = requestPath(request)
      const isPage = !isReserved(path)
      const isProbe = path === ownRoutes.healthz || path === ownRoutes.readyz
      assertSameOrigin(request, this.#settings.hosts, { isPage, isOpen: isPage || isProbe })
      if (isPage) {
        this.#requests.take(senderAddress(request))
        return await sendPage(request, response, { folder: this.#settings.pageFolder ?? builtPage, path })
      }
      if (isProbe) {
        this.#requests.take(senderAddress(request))
        return sendProbe(response, path === ownRoutes.healthz || (await this.#readiness.check()))
      }
      if (path === ownRoutes.signIn) this.#failures.assertLeft(senderAddress(request))
      else this.#senders.set(request, await this.#identify(request))
      if (request.headers.expect !== undefined) response.writeContinue()
      this.#routes(request, response)
    } catch (error) {
      refuseNow(request, response, refusalAnswer(error, this.#context.onError))
    }
  }

  /** Who sends a request, by its token or cookie. */
  async #identify(request: IncomingMessage): Promise<Sender> {
    const credential = credentialOf(request, this.#settings.cookie)
    assertOwnPage(request, credential)
    const { token } = credential
    return { token, principal: await this.#tokens.identify(token, senderAddress(request)) }
  }

  #metrics(): ServerMetrics {
    const { health, followers } = this.#context
    return {
      version: health.version,
      startedAtSeconds: Date.parse(health.since) / 1000,
      memoryBytes: process.memoryUsage.rss(),
      streamClients: followers.size,
      ...{ events: this.#counts.events, ended: this.#counts.ended, answers: this.#counts.answers },
    }
  }

  #senderOf(request: IncomingMessage): Sender {
    const sender = this.#senders.get(request)
    if (!sender) throw new Error('this request was not admitted')
    return sender
  }
}

/** Binds a port: the preferred one or, if the owner did not insist, one near it. */
async function listen(
  server: ReturnType<typeof createServer>,
  { bind, port, allowOtherPort }: WebSettings,
): Promise<number> {
  const nearby = port === 0 ? [] : Array.from({ length: nearbyPorts }, (_, n) => port + n + 1).filter((n) => n < 65_536)
  for (const each of allowOtherPort ? [port, ...nearby, 0] : [port]) {
    const failure = await tryListen(server, bind, each)
    if (!failure) return (server.address() as AddressInfo).port
    if (failure.code !== 'EADDRINUSE') throw cannotListen(bind, each, failure)
  }
  throw new HeddleError(
    'port_taken',
    `port ${port} of ${bind} is taken by another program`,
    'choose another with --port or http.port in heddle.yaml, or stop that program',
  )
}

function tryListen(server: ReturnType<typeof createServer>, host: string, port: number) {
  return new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const failed = (error: Error) => resolve(error)
    server.once('error', failed)
    server.listen({ host, port }, () => {
      server.off('error', failed)
      resolve(undefined)
    })
  })
}

function cannotListen(bind: string, port: number, cause: NodeJS.ErrnoException): HeddleError {
  const why = cause.code === 'EACCES' ? 'you may not use this port' : `the system says ${cause.code}`
  return new HeddleError('cannot_listen', `cannot listen on ${bind}:${port}: ${why}`, 'set http.bind and http.port', {
    cause,
  })
}

function assertSafeBind({ bind, tls, allowPlain }: WebSettings): void {
  if (isLoopbackAddress(bind) || tls || allowPlain) return
  throw new HeddleError(
    'plain_bind',
    `${bind} can be reached from other machines, and without TLS they would send their tokens in the clear`,
    'set http.tls.cert and http.tls.key in heddle.yaml; or http.allowPlain: true, if a proxy in front of it has TLS',
  )
}

/** The path of a request, not decoded: a name that needs decoding is no name of ours. */
function requestPath({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/'
}

const probes: readonly string[] = [ownRoutes.healthz, ownRoutes.readyz, ownRoutes.metrics]

function isReserved(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/') || probes.includes(path)
}

function sendProbe(response: ServerResponse, isWell: boolean): void {
  response.statusCode = isWell ? 200 : 503
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  response.end(isWell ? 'ok\n' : 'not ready\n')
}

/** Answers without reading the body, and closes: what follows on this connection is the rest of the body. */
function refuseNow(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body }: ReturnType<typeof refusalAnswer>,
): void {
  const isUnread = hasBody(request)
  if (isUnread) response.once('finish', () => request.socket.destroySoon())
  const headers = { ...(status === 429 && { 'retry-after': '3' }), ...(isUnread && { connection: 'close' }) }
  writeJson(response, { status, value: body, headers })
}

function senderAddress({ socket }: IncomingMessage): string {
  return callerAddress(socket.remoteAddress)
}

function hostIn(address: string): string {
  if (address === '0.0.0.0' || address === '::') return '127.0.0.1'
  return address.includes(':') ? `[${address}]` : address
}
