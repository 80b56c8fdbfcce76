import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import pg from 'pg'

// Commits rows of a turn's size on as many connections as a worker has, for so long; prints how many.
const [url = '', connections = '', seconds = ''] = process.argv.slice(2)
const json = 'x'.repeat(3400)
const clients = await Promise.all(
  Array.from({ length: Number(connections) }, async () => {
    const client = new pg.Client(url)
    await client.connect()
    return client
  }),
)
process.stdout.write('ready\n')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await lines.next()
const end = performance.now() + Number(seconds) * 1000
let commits = 0
await Promise.all(
  clients.map(async (client) => {
    for (; performance.now() < end; commits++) await client.query('INSERT INTO bare (json) VALUES ($1)', [json])
  }),
)
process.stdout.write(`${commits}\n`)
await Promise.all(clients.map((client) => client.end()))
