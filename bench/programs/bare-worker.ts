import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { idSource } from '../../src/domain/id.ts'
import { systemClock as clock, systemRandom as random } from '../../src/system.ts'

// The ceiling for a worker: takes queued runs and ends them with the two commits and the rows that ours has, statement after
// statement without waiting for the answers that it does not need. It decides nothing and recovers nothing. Prints how many
// runs it ended, and in which time.
const [url = '', connections = '', answer = ''] = process.argv.slice(2)
const newId = idSource(clock, random)
const clients = await Promise.all(
  Array.from({ length: Number(connections) }, async () => {
    const client = new pg.Client({ connectionString: url, pipeline: true } as pg.ClientConfig)
    await client.connect()
    return client
  }),
)
process.stdout.write('ready\n')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await lines.next()
const started = performance.now()
const before = process.cpuUsage()
let ended = 0
await Promise.all(
  clients.map(async (client) => {
    while (await executeRun(client)) ended++
  }),
)
const ms = performance.now() - started
const { user, system } = process.cpuUsage(before)
process.stdout.write(`${JSON.stringify({ ended, ms, cpuMs: (user + system) / 1000 })}\n`)
await Promise.all(clients.map((client) => client.end()))

/** False when nothing is queued. */
async function executeRun(client: pg.Client): Promise<boolean> {
  const send = (name: string, text: string, values: unknown[] = []) => client.query({ name, text, values })
  void client.query('BEGIN')
  const { rows } = await send(
    'claim',
    `UPDATE bare_runs SET state = 'running', epoch = epoch + 1, owner = 'me' WHERE id =
       (SELECT id FROM bare_runs WHERE state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, session`,
  )
  const [run] = rows as { id: string; session: string }[]
  if (run) {
    void send('session', 'SELECT * FROM bare_sessions WHERE id = $1 FOR UPDATE', [run.session])
    void send('bind', 'UPDATE bare_inbox SET run = $1 WHERE session = $2 AND run IS NULL RETURNING *', [
      run.id,
      run.session,
    ])
    void send('started', `INSERT INTO bare_events (kind, subject, json) VALUES ('run.started', $1, '{}')`, [run.id])
    void send('reserve', 'INSERT INTO bare_usage (run, call, reserved) VALUES ($1, 1, 9000)', [run.id])
  }
  await client.query('COMMIT')
  if (!run) return false
  const turn = newId()
  void client.query('BEGIN')
  void send('lock', 'SELECT * FROM bare_sessions WHERE id = $1 FOR UPDATE', [run.session])
  void send('finish', `UPDATE bare_runs SET state = 'completed', owner = NULL WHERE id = $1 AND owner = 'me'`, [run.id])
  void send('spend', 'UPDATE bare_usage SET spent = 200 WHERE run = $1', [run.id])
  void send('turn', 'INSERT INTO bare_turns (id, run, json) VALUES ($1, $2, $3)', [turn, run.id, answer])
  void send('thread', 'INSERT INTO bare_threads (session, depth, turn) VALUES ($1, 1, $2)', [run.session, turn])
  void send('head', 'UPDATE bare_sessions SET head = $1 WHERE id = $2', [turn, run.session])
  void send('consume', 'UPDATE bare_inbox SET turn = $1 WHERE run = $2', [turn, run.id])
  void send('document', 'INSERT INTO bare_documents (ref, text) VALUES ($1, $2)', [turn, answer])
  void send('ended', `INSERT INTO bare_events (kind, subject, json) VALUES ('run.ended', $1, '{}')`, [run.id])
  await client.query('COMMIT')
  return true
}
