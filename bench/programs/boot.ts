import { openHome } from '../home.ts'
import { silentModel } from '../zero-latency.ts'

/** Starts a heddle and says when the first of its recovered runs has started; or dies with its hands full. */
const { home, atOnce, dies } = JSON.parse(process.argv[2] ?? '') as BootSettings

export interface BootSettings {
  home: string
  atOnce: number
  /** Die as soon as this many runs are under way. */
  dies?: number
}

let begun = 0
const model = silentModel(({ id }) => {
  const [, epoch] = id.split('/')
  if (dies === undefined && Number(epoch) > 1) {
    process.stdout.write(`${Date.now()}\n`, () => process.kill(process.pid, 'SIGKILL'))
  }
  if (++begun === dies) process.kill(process.pid, 'SIGKILL')
})
const app = await openHome({ home, model, atOnce })
await app.work()
