import { createInterface } from 'node:readline'
import { openHome } from '../home.ts'
import { zeroLatencyModel } from '../zero-latency.ts'

// A process that claims and executes runs of a database that it shares with others, until its input ends.
const [home = '', database = ''] = process.argv.slice(2)
const app = await openHome({ home, database, model: zeroLatencyModel() })
const work = await app.work()
process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin }));
await work.stop()
await app.close()
process.exit(0)
