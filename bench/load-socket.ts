import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Client } from '../src/gateway/api.ts'
import { findDaemon } from '../src/gateway/client.ts'
import { homePaths } from '../src/home/home.ts'
import { systemClock } from '../src/system.ts'
import { type Figure, figure } from './figures.ts'
import { startProgram } from './programs/start-program.ts'
import { folder, type Scratch } from './scratch.ts'
import { conversation } from './zero-latency.ts'

const asks = 2000
const atOnce = 50
const sessions = 200
const rounds = 3

/** Clients that ask more than a daemon can answer at once: how soon is all of it accepted, durably? */
export async function measureSocket(scratch: Scratch): Promise<Figure> {
  scratch.say(`${asks} asks over the socket`)
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const home = join(scratch.directory, `socket-${round}`)
    const daemon = await startProgram('daemon', [home])
    const client = await findDaemon(homePaths(home).run, { clock: systemClock })
    if (!client) throw new Error('the daemon does not answer')
    const started = performance.now()
    await submitAll(client)
    times.push(performance.now() - started)
    daemon.stdin?.end()
    await once(daemon, 'exit')
  }
  const detail = `to ${sessions} sessions, ${atOnce} connections at a time, one for each ask; ${rounds} new daemons that answer meanwhile`
  return figure(`${asks} asks over the socket, until all are accepted`, 'ms', { atMost: 3000 }, times, detail)
}

async function submitAll(client: Client): Promise<void> {
  const left = Array.from({ length: asks }, (_, number) => `session-${number % sessions}`).values()
  const ask = async () => {
    for (const session of left) await client.submit(folder, { session, content: conversation.question })
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
}
