import { createInterface } from 'node:readline'
import { serve } from '../../src/gateway/server.ts'
import { homePaths } from '../../src/home/home.ts'
import { systemClock } from '../../src/system.ts'
import { openHome } from '../home.ts'
import { zeroLatencyModel } from '../zero-latency.ts'

// A daemon with a socket and a worker, until its input ends.
const [home = ''] = process.argv.slice(2)
const app = await openHome({ home, model: zeroLatencyModel() })
const work = await app.work()
const server = await serve(app, {
  runFolder: homePaths(home).run,
  health: { pid: process.pid, version: '0', since: new Date(systemClock.now()).toISOString() },
  clock: systemClock,
  onError: (error) => process.stderr.write(`${error}\n`),
})
process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin }));
await server.stop()
await work.stop()
await app.close()
process.exit(0)
