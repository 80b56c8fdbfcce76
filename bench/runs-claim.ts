import { join } from 'node:path'
import type { App } from '../src/api/app.ts'
import type { Model } from '../src/domain/model.ts'
import { Commits } from './commits.ts'
import { type Figure, figure, measure, median, quantile, shown } from './figures.ts'
import { openFloor } from './floor.ts'
import { ask, openHome } from './home.ts'
import { folder, type Scratch } from './scratch.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

const rounds = 7
const perRound = 200
const json = JSON.stringify('x'.repeat(670))

/** How long a run that is ready waits until it is claimed, with slots free: from COMMIT to COMMIT. */
export async function measureClaim(scratch: Scratch): Promise<Figure[]> {
  scratch.say('from ready to claimed')
  const commits = new Commits()
  const model = pausingModel()
  const app = await openHome({ home: join(scratch.directory, 'claim'), model, crash: (point) => commits.note(point) })
  const work = await app.work()
  const floor = openFloor(scratch, 'claim-floor')
  const found: { submitted: number[]; followed: number[]; bare: number[] }[] = []
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const times = { submitted: [] as number[], followed: [] as number[], bare: [] as number[] }
    for (let number = 0; number < perRound; number++) {
      commits.forget()
      await ask(app, 'submitted', conversation.question)
      times.submitted.push(commits.untilClaimed('submit'))
      await askTwice(app, model, () => commits.forget())
      times.followed.push(commits.untilClaimed('settle'))
      times.bare.push(await measure(() => floor.insert(`${round}-${number}`, null, json)))
    }
    if (round > 0) found.push(times)
  }
  await work.stop()
  await app.close()
  floor.close()
  const p99 = (times: number[]) => quantile(times, 0.99)
  const figureOf = (name: string, kind: 'submitted' | 'followed') => {
    const all = { ours: found.flatMap((times) => times[kind]), bare: found.flatMap(({ bare }) => bare) }
    const ratios = found.map((times) => p99(times[kind]) / p99(times.bare))
    const medians = `medians ${shown(median(all.ours))} and ${shown(median(all.bare))} ms`
    const detail = `p99 ${shown(p99(all.ours))} ms / ${shown(p99(all.bare))} ms, ${medians}, ${rounds} times ${perRound}`
    return figure(name, 'ratio', { atMost: 3 }, ratios, detail)
  }
  return [
    figureOf('COMMIT of an input → COMMIT of its claim, p99 / a bare commit', 'submitted'),
    figureOf('COMMIT of a run’s end → COMMIT of the next one’s claim, likewise', 'followed'),
  ]
}

/** Asks again while the first question is being answered: the end of its run is what makes the second one's ready. */
async function askTwice(app: App, model: PausingModel, beforeItGoesOn: () => void): Promise<void> {
  const paused = model.pause()
  const first = ask(app, 'followed', conversation.question)
  const goOn = await paused
  const { itemId } = await app.submit(folder, { session: 'followed', content: conversation.question })
  beforeItGoesOn()
  goOn()
  await first
  await app.answer(folder, itemId, new AbortController().signal)
}

interface PausingModel extends Model {
  /** Resolves when the next request is there, which then waits for the function it resolves with. */
  pause(): Promise<() => void>
}

function pausingModel(): PausingModel {
  const model = zeroLatencyModel()
  let announce: ((goOn: () => void) => void) | undefined
  return {
    ...model,
    pause: () =>
      new Promise((resolve) => {
        announce = resolve
      }),
    async reply(request, onDelta) {
      const paused = announce
      announce = undefined
      if (paused) await new Promise<void>((goOn) => paused(goOn))
      return model.reply(request, onDelta)
    },
  }
}
