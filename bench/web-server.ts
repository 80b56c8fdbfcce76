import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import type { Heddle } from '../src/api/heddle.ts'
import { openApp } from '../src/app/app.ts'
import { loadConfig } from '../src/config/config.ts'
import { owner, type Principal } from '../src/domain/access/principal.ts'
import { serve } from '../src/gateway/server.ts'
import { ensureHome, homePaths } from '../src/home/home.ts'
import { systemClock } from '../src/system.ts'
import { type Figure, figure, measurePairs, quantileFigure, ratio } from './figures.ts'
import type { Scratch } from './scratch.ts'

const users = 10
const clients = 1000
const eventsPerSecond = 50
const seconds = 6
const requestsPerRound = 50

/** What the gateway adds to a request, and a thousand browsers that follow events. */
export async function webServer(scratch: Scratch): Promise<Figure[]> {
  const home = join(scratch.directory, 'web-server')
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  config.memory.narratives = false
  const heddle = await openApp({ paths, config, env: {} })
  const server = await serve(heddle, {
    runFolder: paths.run,
    health: { pid: process.pid, version: '0', since: new Date(systemClock.now()).toISOString() },
    clock: systemClock,
    onError: (error) => process.stderr.write(`${error}\n`),
    web: {
      bind: '127.0.0.1',
      port: 0,
      allowOtherPort: true,
      hosts: [],
      allowPlain: false,
      requestsPerSecond: 1_000_000,
      failuresPerMinute: 20,
      home: {
        name: 'bench',
        folder: home,
        workspace: home,
        recovered: { resumed: [], quarantined: [], lost: 0, unknownCalls: 0 },
      },
    },
  })
  const url = server.url ?? ''
  const figures = [await measureRequests(scratch, heddle, url), ...(await measureStreams(scratch, heddle, url))]
  await server.stop()
  await heddle.close()
  return figures
}

async function measureRequests(scratch: Scratch, heddle: Heddle, url: string): Promise<Figure> {
  scratch.say('a request through the gateway against bare hono')
  const { token } = await heddle.as(owner).createToken(null)
  const models = await heddle.as(owner).models()
  const bare = new Hono().get('/v1/models', (c) => c.json({ models }))
  const floor = createServer(getRequestListener(bare.fetch, { overrideGlobalObjects: false })).listen(0, '127.0.0.1')
  await once(floor, 'listening')
  const bareUrl = `http://127.0.0.1:${(floor.address() as AddressInfo).port}`
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async (at: string) => {
    for (let n = 0; n < requestsPerRound; n++) await get(`${at}/v1/models`, token, agent)
  }
  const pairs = await measurePairs({ ours: () => ask(url), floor: () => ask(bareUrl) }, { pairs: 60, warmUp: 10 })
  agent.destroy()
  floor.close()
  const sides: [string, string] = [`${requestsPerRound} requests`, 'bare hono']
  return ratio('gateway / bare hono', { atMost: 1.5 }, pairs, sides, 'host, origin, token, rate and rights')
}

async function measureStreams(scratch: Scratch, heddle: Heddle, url: string): Promise<Figure[]> {
  scratch.say(`${clients} clients, ${eventsPerSecond} events a second, of which each sees ${eventsPerSecond / users}`)
  const people = await Promise.all(Array.from({ length: users }, (_, n) => addPerson(heddle, scratch, `user-${n}`)))
  const before = process.memoryUsage.rss()
  const late: number[] = []
  const streams = await Promise.all(
    Array.from({ length: clients }, (_, n) => follow(url, people[n % users]?.token ?? '', late)),
  )
  const cpu = process.cpuUsage()
  const begun = systemClock.monotonic()
  for (let n = 0; n < eventsPerSecond * seconds; n++) {
    const person = people[n % users]
    const draft = { query: [{ content: `${n}` }], response: { content: 'yes' } }
    await person?.app.append(person.folder, { session: 'main', draft })
    await systemClock.sleep(Math.max(0, begun + ((n + 1) * 1000) / eventsPerSecond - systemClock.monotonic()))
  }
  const expected = (clients / users) * (eventsPerSecond * seconds + users)
  while (late.length < expected) await systemClock.sleep(20)
  const { user, system } = process.cpuUsage(cpu)
  const grown = (process.memoryUsage.rss() - before) / 1024 / 1024
  for (const stream of streams) stream.destroy()
  const busy = `${Math.round((user + system) / 1000)} ms of processor time, clients included`
  return [
    quantileFigure('event to client, p95', 'ms', { atMost: 100 }, late, 0.95, `${late.length} events sent; ${busy}`),
    figure('memory of 1,000 streams', 'MB', { atMost: 200 }, [grown], 'server and clients in one process'),
  ]
}

async function addPerson(heddle: Heddle, scratch: Scratch, id: string) {
  const folder = join(scratch.directory, id)
  mkdirSync(folder)
  await heddle.as(owner).addUser(id, { folder, role: 'operator' })
  const { token } = await heddle.as(owner).createToken(id)
  const principal: Principal = { kind: 'user', id, role: 'operator' }
  return { folder, token, app: heddle.as(principal) }
}

/** Follows events on a socket of its own, and notes how long each was under way. */
async function follow(url: string, token: string, late: number[]): Promise<Socket> {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET /v1/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  await once(socket, 'data')
  socket.on('data', (piece) => {
    const now = systemClock.now()
    for (const [, at] of piece.toString().matchAll(/"at":(\d+),"kind"/g)) late.push(now - Number(at))
  })
  return socket
}

function get(url: string, token: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      response.resume().once('end', resolve)
    })
    sent.on('error', reject).end()
  })
}
