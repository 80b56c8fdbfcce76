import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, loadConfig } from '../../src/config/config.ts'
import type { Event } from '../../src/domain/event.ts'
import type { Model } from '../../src/domain/model.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import type { Client, StreamItem, StreamQuery } from '../../src/gateway/api.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { type Server, type ServerSettings, serve } from '../../src/gateway/server.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { systemClock } from '../../src/system.ts'
import { type OwnerApp, openOwnerApp } from '../setup/owner-app.ts'
import type { Database } from '../setup/places.ts'
import { readyPlace } from '../setup/ready-places.ts'

export const folder = '/here'

/** A whole heddle at work in this process, and a socket to reach it. */
export interface TestGateway {
  app: OwnerApp
  server: Server
  door: Client
  runFolder: string
  /** Listeners for live signs that somebody has not taken back. */
  readonly listeners: number
  /** Resolves when so many are left. */
  untilListeners(count: number): Promise<void>
  remove(): Promise<void>
}

export async function newGateway(
  models: Model[],
  settings: Partial<ServerSettings> & {
    home?: string
    database?: Database
    tools?: Tool[]
    configure?(config: Config): void
  } = {},
): Promise<TestGateway> {
  const root = mkdtempSync(join(tmpdir(), 'heddle-gw-'))
  const home = join(root, settings.home ?? 'home')
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  config.agent.default = '@general'
  config.memory.narratives = false
  settings.configure?.(config)
  const { place, remove: removePlace } = await readyPlace(settings.database ?? 'sqlite')
  if (place.kind === 'postgres') config.database = place.url
  const troubles: unknown[] = []
  const tell = (text: string) => void (text.startsWith('trouble') && troubles.push(new Error(text)))
  const opened = await openOwnerApp({
    paths,
    config,
    env: {},
    models,
    tell,
    ...(settings.tools && { tools: settings.tools }),
  })
  let listeners = 0
  const waiters = new Set<() => void>()
  const changed = (by: number) => {
    listeners += by
    for (const look of waiters) look()
  }
  const app: OwnerApp = {
    ...opened,
    listen(listener) {
      const stop = opened.listen(listener)
      changed(1)
      return () => {
        stop()
        changed(-1)
      }
    },
  }
  const work = await app.work()
  const close = async () => {
    await work.stop()
    await app.close()
    rmSync(root, { recursive: true, force: true })
    await removePlace()
  }
  const serving = serve(app, {
    runFolder: paths.run,
    health: { pid: process.pid, version: '0', since: '2026-01-01T00:00:00.000Z' },
    clock: systemClock,
    onError: (error) => troubles.push(error),
    ...settings,
  })
  // A refused one leaves nothing at work beside later tests.
  const server = await serving.catch(async (error) => {
    await close()
    throw error
  })
  return {
    app,
    server,
    door: daemonClient({ socket: server.path }, systemClock),
    runFolder: paths.run,
    get listeners() {
      return listeners
    },
    untilListeners: (count) =>
      new Promise((resolve) => {
        const look = () => listeners === count && resolve()
        waiters.add(look)
        look()
      }),
    async remove() {
      await server.stop()
      await close()
      if (troubles.length > 0) throw troubles[0]
    },
  }
}

/** Everything a stream tells up to the first thing that passes the test. */
export async function toldUntil(
  door: Client,
  query: Omit<StreamQuery, 'signal'>,
  isLast: (told: StreamItem) => boolean,
): Promise<StreamItem[]> {
  const enough = new AbortController()
  const heard: StreamItem[] = []
  for await (const told of door.stream({ ...query, signal: enough.signal })) {
    heard.push(told)
    if (isLast(told)) enough.abort()
  }
  return heard
}

export const isEnd = (told: StreamItem) => told.kind === 'event' && told.event.kind === 'run.ended'

export function eventsIn(told: StreamItem[]): Event[] {
  return told.flatMap((each) => (each.kind === 'event' ? [each.event] : []))
}
