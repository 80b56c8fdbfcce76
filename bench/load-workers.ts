import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { startPostgres } from '../test/setup/postgres.ts'
import { type Figure, figure, median, missing, shown } from './figures.ts'
import { openHome } from './home.ts'
import { startProgram } from './programs/start-program.ts'
import { folder, type Scratch } from './scratch.ts'
import { serverTime } from './server-time.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

const workers = 4
const connections = 10
/** As many as the bare programs execute: code that has run only a few hundred times takes twice the time. */
const turns = 2000
/** Ends before these are not counted: workers come one after the other and are cold. */
const warmUp = 400
const rounds = 3
const bareTurns = turns
const name = `turns of ${workers} worker processes on one PostgreSQL / those of bare programs`
const goal = { atLeast: 0.6 }

/** How much of what a server can commit is left for turns, when several processes execute what is queued. */
export async function measureWorkers(scratch: Scratch): Promise<Figure> {
  scratch.say(`${workers} worker processes on one PostgreSQL`)
  const server = await startPostgres(undefined, 'durable').catch((error: Error) => error)
  if (server instanceof Error) return missing(name, 'ratio', goal, `no PostgreSQL could be started: ${server.message}`)
  const found = { ours: [] as Pace[], ceiling: [] as Pace[] }
  try {
    for (let round = 0; round < rounds; round++) {
      found.ceiling.push(await paceOfBare(server.url))
      found.ours.push(await paceOf(scratch, server.url, round))
    }
  } finally {
    await server.stop()
  }
  const ratios = found.ours.map(({ perSecond }, round) => perSecond / (found.ceiling[round]?.perSecond ?? Number.NaN))
  const middle = (paces: Pace[], part: keyof Pace) => median(paces.map((pace) => pace[part]))
  const sides = `${shown(middle(found.ours, 'perSecond'))} / ${shown(middle(found.ceiling, 'perSecond'))} turns a second`
  // Where all processors are busy no turn is quicker than the time that it takes of them.
  const timeOf = (paces: Pace[]) =>
    `${shown(middle(paces, 'programsMs'))} in the programs and ${shown(middle(paces, 'serverMs'))} in the server`
  const whole = (paces: Pace[]) => middle(paces, 'programsMs') + middle(paces, 'serverMs')
  const most = shown(whole(found.ceiling) / whole(found.ours))
  const time = `processor time in ms for a turn: ${timeOf(found.ours)} / ${timeOf(found.ceiling)}, so that the ratio is about ${most} where ${availableParallelism()} processors are all that there is`
  const how = `the ceiling: as many processes with ${connections} connections each, the same two commits with fsync and rows like ours in 16 statements, which decide nothing`
  return figure(name, 'ratio', goal, ratios, `${sides}; ${time}; ${how}; ${turns} queued turns, ${rounds} rounds`)
}

/** How quickly turns were ended, and what each took of the processors. */
interface Pace {
  perSecond: number
  programsMs: number
  serverMs: number
}

async function paceOfBare(url: string): Promise<Pace> {
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
  const before = await serverTime(url)
  const ends = programs.map(async (program) => {
    program.stdin?.write('go\n')
    const [said] = await once(program.stdout ?? program, 'data')
    program.stdin?.end()
    return JSON.parse(said) as { ended: number; ms: number; cpuMs: number }
  })
  const all = await Promise.all(ends)
  const serverMs = ((await serverTime(url)) - before) / bareTurns
  await admin.end()
  return {
    perSecond: (bareTurns / Math.max(...all.map(({ ms }) => ms))) * 1000,
    programsMs: all.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / bareTurns,
    serverMs,
  }
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
async function paceOf(scratch: Scratch, url: string, round: number): Promise<Pace> {
  const database = `${url}?schema=load_${round}`
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
  const before = await serverTime(url)
  const running = await Promise.all(
    Array.from({ length: workers }, (_, number) => startProgram('worker', [homeOf(number), database])),
  )
  const times = await ends
  const serverMs = ((await serverTime(url)) - before) / turns
  over.abort()
  const taken = running.map(async (worker) => {
    worker.stdin?.end()
    const ended = once(worker, 'exit')
    const [said] = await once(worker.stdout ?? worker, 'data')
    await ended
    return (JSON.parse(said) as { cpuMs: number }).cpuMs
  })
  const programsMs = (await Promise.all(taken)).reduce((sum, ms) => sum + ms, 0) / turns
  await app.close()
  const perSecond = ((turns - warmUp) / ((times.at(-1) ?? 0) - (times[warmUp - 1] ?? 0))) * 1000
  return { perSecond, programsMs, serverMs }
}
