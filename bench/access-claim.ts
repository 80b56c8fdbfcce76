import { once } from 'node:events'
import { join } from 'node:path'
import { startPostgres } from '../test/setup/postgres.ts'
import { type Figure, missing, quantileFigure } from './figures.ts'
import { openHome } from './home.ts'
import { startProgram } from './programs/start-program.ts'
import { folder, type Scratch } from './scratch.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

const submits = 300
const warmUp = 20
const name = 'submit → claim in another process on PostgreSQL, p99'
const goal = { atMost: 20 }

/** How soon a process that runs things begins with an input that another process took in. */
export async function measureRemoteClaim(scratch: Scratch): Promise<Figure> {
  scratch.say('claims in another process')
  const server = await startPostgres().catch((error: Error) => error)
  if (server instanceof Error) return missing(name, 'ms', goal, `no PostgreSQL could be started: ${server.message}`)
  const database = `${server.url}?schema=bench`
  const app = await openHome({ home: join(scratch.directory, 'submits'), database, model: zeroLatencyModel() })
  const worker = await startProgram('worker', [join(scratch.directory, 'works'), database])
  try {
    const after = await app.cursor()
    const started = new Map<string, (at: number) => void>()
    const over = new AbortController()
    const following = (async () => {
      for await (const { kind, subject, at } of app.follow({ ...(after !== null && { after }), signal: over.signal }))
        if (kind === 'run.started') started.get(subject)?.(at)
    })()
    const times: number[] = []
    for (let number = 0; number < submits; number++) {
      const { itemId, runId } = await app.submit(folder, { session: 'main', content: conversation.question })
      const submitted = Date.now()
      const claimed = await new Promise<number>((resolve) => started.set(`run:${runId}`, resolve))
      if (number >= warmUp) times.push(Math.max(0, claimed - submitted))
      await app.answer(folder, itemId, new AbortController().signal)
    }
    over.abort()
    await following
    return quantileFigure(
      name,
      'ms',
      goal,
      times,
      0.99,
      `${times.length} inputs; the time of the claim in whole milliseconds`,
    )
  } finally {
    worker.stdin?.end()
    await once(worker, 'exit')
    await app.close()
    await server.stop()
  }
}
