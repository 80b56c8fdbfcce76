import { createInterface } from 'node:readline'
import { openHome } from '../home.ts'
import { zeroLatencyModel } from '../zero-latency.ts'

// A process that claims and executes runs of a database that it shares with others, until its input ends. Prints the processor
// time that it took for that.
const [home = '', database = ''] = process.argv.slice(2)
const app = await openHome({ home, database, model: zeroLatencyModel() })
const work = await app.work()
const before = process.cpuUsage()
process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin }));
const { user, system } = process.cpuUsage(before)
process.stdout.write(`${JSON.stringify({ cpuMs: (user + system) / 1000 })}\n`)
await work.stop()
await app.close()
process.exit(0)
