import { performance } from 'node:perf_hooks'
import { homePaths } from '../../src/home/home.ts'
import { ask, openHome } from '../home.ts'
import { sizeNow } from '../scratch.ts'
import { type Conversation, startAgents, zeroLatencyModel } from '../zero-latency.ts'
import { serve } from './serve.ts'

/** Heddle as it is used: the public App, one home, a worker in this process. */
const settings = JSON.parse(process.argv[2] ?? '') as HeddleSettings

export interface HeddleSettings extends Conversation {
  directory: string
  durability: 'full' | 'normal'
  atOnce: number
  /** Agents are sessions that are asked side by side, instead of children of one run. */
  sideBySide?: boolean
}

const app = await openHome({
  home: settings.directory,
  model: zeroLatencyModel(settings.answer),
  durability: settings.durability,
  atOnce: settings.atOnce,
})
await app.work()

let requests = 0

await serve({
  async turns(count) {
    const times: number[] = []
    for (let turn = 0; turn < count; turn++) times.push(await timed(() => ask(app, 'main', settings.question)))
    return times
  },
  agents(count) {
    requests++
    if (!settings.sideBySide) return timed(() => ask(app, `request-${requests}`, startAgents(count)))
    const labels = Array.from({ length: count }, (_, number) => `agent-${requests}-${number}`)
    return timed(() => Promise.all(labels.map((label) => ask(app, label, settings.task))))
  },
  bytes: () => sizeNow(homePaths(settings.directory).database),
})

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
