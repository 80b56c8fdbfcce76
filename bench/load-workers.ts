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
const bareTurns = 4000
const name = `turns of ${workers} worker processes on one PostgreSQL / those of bare programs`
const goal = { atLeast: 0.6 }

/** How much of what a server can commit is left for turns, when several processes execute what is queued. */
export async function measureWorkers(scratch: Scratch): Promise<Figure> {
  scratch.say(`${workers} worker processes on one PostgreSQL`)
  const server = await startPostgres(undefined, 'durable').catch((error: Error) => error)
  if (server instanceof Error) return missing(name, 'ratio', goal, `no PostgreSQL could be started: ${server.message}`)
  const found = { ratios: [] as number[], ours: [] as number[], ceiling: [] as number[] }
  try {
    for (let round = 0; round < rounds; round++) {
      const ceiling = await bareTurnsPerSecond(server.url)
      const ours = await turnsPerSecond(scratch, `${server.url}?schema=load_${round}`, round)
      found.ceiling.push(ceiling)
      found.ours.push(ours)
      found.ratios.push(ours / ceiling)
    }
  } finally {
    await server.stop()
  }
  const sides = `${shown(median(found.ours))} / ${shown(median(found.ceiling))} turns a second`
  const how = `the ceiling: as many processes with ${connections} connections each, the same two commits with fsync and rows like ours in 16 statements, which decide nothing`
  return figure(name, 'ratio', goal, found.ratios, `${sides}; ${how}; ${turns} queued turns, ${rounds} rounds`)
}

async function bareTurnsPerSecond(url: string): Promise<number> {
  const admin = new pg.Client(url)
  await admin.connect()
  await admin.query(bareSchema)
  await admin.query(
    `INSERT INTO bare_sessions (id) SELECT 'session-' || n FROM generate_series(1, ${bareTurns}) AS n;
     INSERT INTO bare_runs (id, session) SELECT 'run-' || n, 'session-' || n FROM generate_series(1, ${bareTurns}) AS n;
     INSERT INTO bare_inbox (session, json) SELECT 'session-' || n, repeat('x', 200) FROM generate_series(1, ${bareTurns}) AS n`,
  )
  const words = [url, String(connections), conversation.answer]
  const programs = await Promise.all(Array.from({ length: workers }, () => startProgram('bare-worker', words)))
  const ends = programs.map(async (program) => {
    program.stdin?.write('go\n')
    const [said] = await once(program.stdout ?? program, 'data')
    program.stdin?.end()
    return JSON.parse(said) as { ended: number; ms: number }
  })
  const all = await Promise.all(ends)
  await admin.end()
  return (bareTurns / Math.max(...all.map(({ ms }) => ms))) * 1000
}

const bareSchema = `
  DROP TABLE IF EXISTS bare_sessions, bare_runs, bare_inbox, bare_usage, bare_turns, bare_threads, bare_documents, bare_events;
  CREATE TABLE bare_sessions (id text PRIMARY KEY, head text);
  CREATE TABLE bare_runs (id text PRIMARY KEY, session text, state text DEFAULT 'queued', epoch int DEFAULT 0, owner text);
  CREATE INDEX ON bare_runs (id) WHERE state = 'queued';
  CREATE TABLE bare_inbox (id bigserial PRIMARY KEY, session text, run text, turn text, json text);
  CREATE INDEX ON bare_inbox (session);
  CREATE INDEX ON bare_inbox (run);
  CREATE TABLE bare_usage (run text, call int, reserved int, spent int, PRIMARY KEY (run, call));
  CREATE TABLE bare_turns (id text PRIMARY KEY, run text UNIQUE, json text);
  CREATE TABLE bare_threads (session text, depth int, turn text UNIQUE, PRIMARY KEY (session, depth));
  CREATE TABLE bare_documents (id bigserial PRIMARY KEY, ref text, text text);
  CREATE TABLE bare_events (seq bigserial PRIMARY KEY, kind text, subject text, json text)`

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
