import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Writable } from 'node:stream'
import { Progress } from '../src/cli/live/progress.ts'
import { terminalPane } from '../src/cli/terminal/pane.ts'
import type { Screen } from '../src/cli/terminal/screen.ts'
import type { Model } from '../src/domain/model.ts'
import { noUsage } from '../src/domain/turn.ts'
import { localClient } from '../src/gateway/local-client.ts'
import { type Figure, quantileFigure } from './figures.ts'
import { openHome } from './home.ts'
import { folder, type Scratch } from './scratch.ts'

const questions = 400
const warmUp = 50
const word = 'firstword'
const screen: Screen = { columns: 80, rows: 24, isTerminal: true, color: true }

/** From the moment a model's first word reaches us to the moment it is handed to the terminal, as `ask` shows it. */
export async function measureFirstWord(scratch: Scratch): Promise<Figure[]> {
  scratch.say('the first word to the terminal')
  let said = 0
  let isShown = Promise.withResolvers<number>()
  const model: Model = {
    name: 'one-word',
    window: 1_000_000,
    price: { input: 0, output: 0 },
    async reply(_, onDelta) {
      // From a fresh turn of the event loop, as bytes from a socket come.
      await new Promise(setImmediate)
      said = performance.now()
      onDelta({ kind: 'text', text: word })
      await isShown.promise
      return { text: word, calls: [], finish: 'stop', usage: noUsage, model: 'one-word' }
    },
  }
  const output = new Writable({
    write(text, _, done) {
      if (String(text).includes(word)) isShown.resolve(performance.now())
      done()
    },
  })
  const app = await openHome({ home: join(scratch.directory, 'first-word'), model })
  const work = await app.work()
  const door = localClient(app, app)
  const times: number[] = []
  for (let round = 0; round < warmUp + questions; round++) {
    isShown = Promise.withResolvers<number>()
    const over = new AbortController()
    const cursor = await door.cursor()
    const session = `s${round}`
    const { itemId, runId } = await door.submit(folder, { session, content: 'say it' })
    const pane = terminalPane(screen, output)
    const progress = new Progress(screen, { session, folder, runId })
    const showing = (async () => {
      for await (const told of door.stream({ ...(cursor !== null && { after: cursor }), signal: over.signal })) {
        progress.apply(told)
        pane.show(progress.text)
      }
    })()
    const time = (await isShown.promise) - said
    if (round >= warmUp) times.push(time)
    await door.answer(folder, itemId, new AbortController().signal)
    over.abort()
    await showing
    pane.close()
  }
  await work.stop()
  await app.close()
  const detail = `from the model's delta to the write on the terminal, ${questions} questions, in this process`
  return [quantileFigure('first word to the terminal, p99', 'ms', { atMost: 5 }, times, 0.99, detail)]
}
