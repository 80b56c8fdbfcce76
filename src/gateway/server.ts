import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Heddle } from '../api/heddle.ts'
import { owner } from '../domain/access/principal.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Health } from './api.ts'
import { EventHub } from './event-hub.ts'
import { defaultFollowerLimits, type Follower, type FollowerLimits } from './follower.ts'
import { routes } from './http.ts'
import { liveTexts } from './live-texts.ts'
import { RightsWatch } from './rights.ts'
import { placeSocket, type SocketFolders } from './socket-place.ts'
import { bearerToken } from './web/credential.ts'
import { serveWeb, type WebSettings } from './web/web-server.ts'

const headersTimeout: Millis = 5_000

export interface ServerSettings extends SocketFolders {
  health: Omit<Health, 'ok' | 'url'>
  clock: Clock
  followerLimits?: FollowerLimits
  /** Where to serve the page and the routes over TCP; nowhere if left out. */
  web?: WebSettings
  onError(error: unknown): void
}

export interface Server {
  path: string
  /** Address of the page, if there is one. */
  url: string | null
  /** Accepts no more connections, closes the open ones, and removes the socket. */
  stop(): Promise<void>
}

/** Serves on a unix socket that only this user can open and, if asked to, over TCP to those who prove who they are. */
export async function serve(heddle: Heddle, settings: ServerSettings): Promise<Server> {
  const { clock, onError, followerLimits = defaultFollowerLimits } = settings
  const hub = await EventHub.open(heddle.as(owner), clock)
  const live = liveTexts(heddle, hub)
  const rights = new RightsWatch(heddle, clock)
  const followers = new Set<Follower>()
  const health: Health = { ok: true, ...settings.health, url: null }
  const context = { heddle, health, clock, hub, live, rights, followerLimits, onError, followers }
  const senderOf = async ({ headers }: IncomingMessage) => {
    const token = bearerToken(headers.authorization)
    return { token, principal: await heddle.identify(token) }
  }
  const web = settings.web && (await serveWeb(context, settings.web))
  health.url = web?.url ?? null
  const http = routes({ ...context, senderOf })
  const server = createServer(
    {
      headersTimeout: headersTimeout,
      // Bodies have their own limit: an import may take long.
      requestTimeout: 0,
      connectionsCheckingInterval: 1000,
      keepAliveTimeout: 5_000,
    },
    // Replacing the global Request would affect the whole process.
    getRequestListener(http.fetch, { overrideGlobalObjects: false }),
  )
  const socket = await placeSocket(settings, async (path) => {
    server.listen(path)
    await once(server, 'listening')
  })
  server.on('error', onError)
  return {
    path: socket.path,
    url: health.url,
    async stop() {
      socket.remove()
      live.stop()
      hub.stop()
      rights.stop()
      for (const follower of followers) follower.leave()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await Promise.all([closed, web?.stop()])
    },
  }
}
