import { join } from 'node:path'
import { engineOf } from '../src/app/engine.ts'
import { loadConfig } from '../src/config/config.ts'
import { answer } from '../src/engine/run/answer.ts'
import { startWorker } from '../src/engine/run/worker/worker.ts'
import { ensureHome, homePaths } from '../src/home/home.ts'
import { fileLocks } from '../src/store/sqlite/owner-locks.ts'
import { manualClock } from '../src/testing.ts'
import { countingStore } from '../test/setup/counting-store.ts'
import { type Figure, figure } from './figures.ts'
import { folder, openWorld, type Scratch } from './scratch.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

/** Statements of a plain turn before runs had principals, counted in the same way. */
const before = 55
const turns = 20
const warmUp = 3

/** How many statements a question and its answer take, now and before. Time stands still: no heartbeat is among them. */
export async function measureStatements(scratch: Scratch): Promise<Figure> {
  scratch.say('statements of a plain turn')
  const home = join(scratch.directory, 'statements')
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  const world = await openWorld(scratch, 'statements')
  const sent: string[] = []
  const runtime = { ...world, clock: manualClock(Date.now()), store: countingStore(world.store, sent) }
  const engine = engineOf(
    runtime,
    { crash: () => undefined, live: () => undefined },
    { config, models: [zeroLatencyModel()], env: {} },
  )
  const worker = await startWorker(engine, {
    locks: fileLocks(paths.run),
    pid: process.pid,
    onError(error) {
      throw error
    },
  })
  const counts: number[] = []
  for (let number = 0; number < turns + warmUp; number++) {
    sent.length = 0
    const ended = Promise.withResolvers<void>()
    const stopListening = world.store.onHint((hint) => hint.startsWith('ended:') && ended.resolve())
    const question = { folder, label: 'main', content: conversation.question, agent: 'general' }
    const { itemId } = await worker.submit(question)
    await ended.promise
    stopListening()
    if (number >= warmUp) counts.push(sent.length)
    await answer(engine, folder, itemId, new AbortController().signal)
  }
  await worker.stop()
  await world.store.close()
  const detail = `${counts.toSorted((a, b) => a - b)[turns / 2]} statements, ${before} before`
  const ratios = counts.map((count) => count / before)
  return figure('plain turn: statements, now / before', 'ratio', { atMost: 1.05 }, ratios, detail)
}
