import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type Figure, quantileFigure } from './figures.ts'
import { openHome } from './home.ts'
import { folder, type Scratch } from './scratch.ts'
import { zeroLatencyModel } from './zero-latency.ts'

const all = 1000
/** Jobs that fire while it is measured, one after the other; the rest wait for later. */
const fired = 200
const warmUp = 20
const apartMs = 100
/** Time for adding the jobs that fire before the first of them is due. */
const leadMs = 5000

/** How long it takes from a job's time until its run is claimed, with a thousand jobs in the home. */
export async function measureJobs(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`${all} jobs, ${fired} of which fire`)
  const late: number[] = []
  const done = Promise.withResolvers<void>()
  const model = zeroLatencyModel()
  const app = await openHome({
    home: join(scratch.directory, 'jobs'),
    model: {
      ...model,
      reply(request, onDelta) {
        // The claim was committed before the model is asked: what is measured is a little more than asked for.
        const due = Number(request.messages.at(-1)?.content)
        late.push(performance.timeOrigin + performance.now() - due)
        if (late.length === fired) done.resolve()
        return model.reply(request, onDelta)
      },
    },
  })
  const add = (count: number, timesOf: (number: number) => { every: string } | { at: string; message: string }) =>
    Promise.all(
      Array.from({ length: count }, (_, number) => app.addJob(folder, { message: 'wait', ...timesOf(number) })),
    )
  await add(all - fired, () => ({ every: '8h' }))
  const first = Date.now() + leadMs
  await add(fired, (number) => {
    const due = first + number * apartMs
    return { at: new Date(due).toISOString(), message: String(due) }
  })
  if (Date.now() > first) throw new Error('adding the jobs took too long: raise leadMs')
  const work = await app.work()
  await done.promise
  await work.stop()
  await app.close()
  const detail = `${all} jobs, ${fired} times ${apartMs} ms apart`
  const name = 'a job’s time → COMMIT of its run’s claim, p99'
  return [quantileFigure(name, 'ms', { atMost: 20 }, late.slice(warmUp), 0.99, detail)]
}
