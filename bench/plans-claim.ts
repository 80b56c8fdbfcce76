import { join } from 'node:path'
import type { CrashPoint } from '../src/domain/crash-points.ts'
import { Commits } from './commits.ts'
import { type Figure, figure, measure, median, quantile, shown } from './figures.ts'
import { openFloor } from './floor.ts'
import { ask, openHome } from './home.ts'
import { goal, layered, outputOf, type PlanScript, playedModel } from './plans-script.ts'
import type { Scratch } from './scratch.ts'

const rounds = 7
const perRound = 100
const wide = 4
const json = JSON.stringify('x'.repeat(670))

interface Times {
  one: number[]
  four: number[]
  bare: number[]
}

/** How long a task waits that needs nothing any more, with slots free: from the COMMIT of what it needed last to its claim's. */
export async function measureDependents(scratch: Scratch): Promise<Figure[]> {
  scratch.say('from the last dependency to the claim')
  const sizes = Array.from({ length: perRound * 2 }, (_, layer) => (layer % 2 === 0 ? wide : 1))
  const script: PlanScript = { goal, tasks: layered(sizes), output: outputOf(600), answer: 'Done.' }
  const commits = new Commits()
  const tasks = new HeldTasks()
  const model = playedModel(script, { beforeAnswer: ({ messages }) => tasks.hold(messages[0]?.content ?? '') })
  const home = join(scratch.directory, 'dependents')
  const crash = (point: CrashPoint) => {
    commits.note(point)
    tasks.look()
  }
  const app = await openHome({ home, model, agent: '@coordinator', crash })
  const work = await app.work()
  const floor = openFloor(scratch, 'dependents-floor')
  const found: Times[] = []
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const times: Times = { one: [], four: [], bare: [] }
    const asked = ask(app, `round-${round}`, script.goal)
    for (const [layer, size] of sizes.entries()) {
      const last = await endAllButOne(tasks, commits, size)
      commits.forget()
      last()
      const next = sizes[layer + 1]
      if (next === undefined) break
      await tasks.until(() => tasks.size === next)
      times[next === 1 ? 'one' : 'four'].push(commits.untilLastClaimed())
      times.bare.push(await measure(() => floor.insert(`${round}-${layer}`, null, json)))
    }
    await asked
    if (round > 0) found.push(times)
  }
  await work.stop()
  await app.close()
  floor.close()
  return [
    figureOf('COMMIT of the last dependency → COMMIT of its dependent’s claim, p99 / a bare commit', 'one', found),
    figureOf(`the same until the last of ${wide} dependents that it frees is claimed`, 'four', found),
  ]
}

function figureOf(name: string, kind: 'one' | 'four', found: Times[]): Figure {
  const p99 = (times: number[]) => quantile(times, 0.99)
  const [ours, bare] = [found.flatMap((times) => times[kind]), found.flatMap((times) => times.bare)]
  const ratios = found.map((times) => p99(times[kind]) / p99(times.bare))
  const medians = `medians ${shown(median(ours))} and ${shown(median(bare))} ms`
  const same = ours.filter((time) => time === 0).length
  const detail = `p99 ${shown(p99(ours))} ms / ${shown(p99(bare))} ms, ${medians}, ${ours.length} times, ${same} in one commit`
  return figure(name, 'ratio', { atMost: 3 }, ratios, detail)
}

/** Ends the tasks of a layer one after another, each in a commit of its own, until one is left: answers what ends that. */
async function endAllButOne(tasks: HeldTasks, commits: Commits, size: number): Promise<() => void> {
  await tasks.until(() => tasks.size === size)
  for (; tasks.size > 1; ) {
    commits.forget()
    tasks.take()()
    await tasks.until(() => commits.count('settle') > 0)
  }
  return tasks.take()
}

/** Tasks that a model was asked to do and that wait for a word before they are answered. */
class HeldTasks {
  readonly #held: (() => void)[] = []
  #waiting: { isSo: () => boolean; goOn: () => void } | undefined

  get size(): number {
    return this.#held.length
  }

  hold(content: string): Promise<void> {
    // Research and planning are not held up.
    if (!content.startsWith('Measure')) return Promise.resolve()
    return new Promise((resolve) => {
      this.#held.push(resolve)
      this.look()
    })
  }

  take(): () => void {
    const next = this.#held.shift()
    if (!next) throw new Error('no task waits')
    return next
  }

  until(isSo: () => boolean): Promise<void> {
    return new Promise((goOn) => {
      this.#waiting = { isSo, goOn }
      this.look()
    })
  }

  /** Must come after anything that could make true what is waited for. */
  look(): void {
    const waiting = this.#waiting
    if (!waiting?.isSo()) return
    this.#waiting = undefined
    waiting.goOn()
  }
}
