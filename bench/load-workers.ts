import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { startPostgres } from '../test/setup/postgres.ts'
import { type Figure, figure, median, missing, shown } from './figures.ts'
import { openHome } from './home.ts'
import { startProgram } from './programs/start-program.ts'
import { folder, type Scratch } from './scratch.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

const workers = 4
const connections = 10
const turns = 800
/** Ends before these are not counted: workers come one after the other and are cold. */
const warmUp = 200
const rounds = 3
const ceilingSeconds = 2
const commitsPerTurn = 2
const name = `commits of ${workers} worker processes on one PostgreSQL / its commit ceiling`
const goal = { atLeast: 0.6 }

/** How much of what a server can commit is left for turns, when several processes execute what is queued. */
export async function measureWorkers(scratch: Scratch): Promise<Figure> {
  scratch.say(`${workers} worker processes on one PostgreSQL`)
  const server = await startPostgres(undefined, 'durable').catch((error: Error) => error)
  if (server instanceof Error) return missing(name, 'ratio', goal, `no PostgreSQL could be started: ${server.message}`)
  const found = { ratios: [] as number[], ours: [] as number[], ceiling: [] as number[] }
  try {
    for (let round = 0; round < rounds; round++) {
      const ceiling = await commitCeiling(server.url)
      const ours = await turnsPerSecond(scratch, `${server.url}?schema=load_${round}`, round)
      found.ceiling.push(ceiling)
      found.ours.push(ours)
      found.ratios.push((ours * commitsPerTurn) / ceiling)
    }
  } finally {
    await server.stop()
  }
  const sides = `${shown(median(found.ours))} turns a second, two commits each / ${shown(median(found.ceiling))} commits a second`
  const how = `of bare inserts by ${workers} processes with ${connections} connections each`
  return figure(name, 'ratio', goal, found.ratios, `${sides} ${how}; ${turns} queued turns, ${rounds} rounds`)
}

async function commitCeiling(url: string): Promise<number> {
  const admin = new pg.Client(url)
  await admin.connect()
  await admin.query('DROP TABLE IF EXISTS bare; CREATE TABLE bare (id bigserial PRIMARY KEY, json text NOT NULL)')
  const words = [url, String(connections), String(ceilingSeconds)]
  const programs = await Promise.all(Array.from({ length: workers }, () => startProgram('commits', words)))
  const counts = programs.map(async (program) => {
    program.stdin?.write('go\n')
    const [said] = await once(program.stdout ?? program, 'data')
    program.stdin?.end()
    return Number(said)
  })
  const commits = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  await admin.end()
  return commits / ceilingSeconds
}

/** Everything is queued before the first worker starts. */
async function turnsPerSecond(scratch: Scratch, database: string, round: number): Promise<number> {
  const homeOf = (who: string | number) => join(scratch.directory, `load-${round}-${who}`)
  const app = await openHome({ home: homeOf('asks'), database, model: zeroLatencyModel() })
  const labels = Array.from({ length: turns }, (_, number) => `session-${number}`)
  await Promise.all(labels.map((session) => app.submit(folder, { session, content: conversation.question })))
  const after = await app.cursor()
  const over = new AbortController()
  const ends = (async () => {
    const times: number[] = []
    for await (const { kind } of app.follow({ ...(after !== null && { after }), signal: over.signal })) {
      if (kind !== 'run.ended') continue
      times.push(performance.now())
      if (times.length === turns) break
    }
    return times
  })()
  const running = await Promise.all(
    Array.from({ length: workers }, (_, number) => startProgram('worker', [homeOf(number), database])),
  )
  const times = await ends
  over.abort()
  for (const worker of running) worker.stdin?.end()
  await Promise.all(running.map((worker) => once(worker, 'exit')))
  await app.close()
  return ((turns - warmUp) / ((times.at(-1) ?? 0) - (times[warmUp - 1] ?? 0))) * 1000
}
