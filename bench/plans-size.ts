import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Figure, figure, median, shown } from './figures.ts'
import { ask, openHome } from './home.ts'
import { insertPlanRows } from './plan-rows.ts'
import { goal, layered, outputOf, type PlanScript, playedModel } from './plans-script.ts'
import type { Scratch } from './scratch.ts'

const rounds = 3
const perLayer = 10
const [small, middle, large] = [50, 1000, 5000]
/** So many small plans, one after another and each in a home of its own, are one measurement. */
const smallOnes = 10

/** What a task of a plan costs the engine, however large the plan is: the processor's time, which neighbours hardly touch. */
export async function measureSize(scratch: Scratch): Promise<Figure[]> {
  scratch.say('tasks of small and large plans')
  const found = { small: [] as Cost[], middle: [] as Cost[], large: [] as Cost[] }
  await costOf(scratch, middle)
  for (let round = 0; round < rounds; round++) {
    const several: Cost[] = []
    for (let one = 0; one < smallOnes; one++) several.push(await costOf(scratch, small))
    found.small.push({ cpu: median(several.map(({ cpu }) => cpu)), wall: median(several.map(({ wall }) => wall)) })
    found.middle.push(await costOf(scratch, middle))
    found.large.push(await costOf(scratch, large))
  }
  const ratios = (ours: keyof typeof found, floor: keyof typeof found, time: keyof Cost) =>
    found[ours].map((cost, round) => cost[time] / (found[floor][round]?.[time] ?? Number.NaN))
  const medians = (time: keyof Cost) =>
    `${small}: ${ms(found.small, time)}, ${middle}: ${ms(found.middle, time)}, ${large}: ${ms(found.large, time)} ms per task`
  const [cpu, wall] = [`processor time of plans of ${medians('cpu')}`, `wall time of plans of ${medians('wall')}`]
  const how = `layers of ${perLayer}, from run_project to the answer, ${rounds} rounds`
  const most = { atMost: 1.3 }
  return [
    figure(
      `processor time per task of a plan of ${large} / of one of ${small}`,
      'ratio',
      most,
      ratios('large', 'small', 'cpu'),
      `${cpu}; ${how}`,
    ),
    figure(
      `the same of a plan of ${middle} / of one of ${small}`,
      'ratio',
      most,
      ratios('middle', 'small', 'cpu'),
      how,
    ),
    // A small plan has fewer tasks to spread the coordinator's own runs over; this one shows growth alone.
    figure(
      `the same of a plan of ${large} / of one of ${middle}`,
      'ratio',
      null,
      ratios('large', 'middle', 'cpu'),
      how,
    ),
    figure(
      `wall time per task of a plan of ${large} / of one of ${small}`,
      'ratio',
      null,
      ratios('large', 'small', 'wall'),
      `${wall}; ${how}`,
    ),
  ]
}

/** Milliseconds per task. */
interface Cost {
  cpu: number
  wall: number
}

function ms(costs: Cost[], time: keyof Cost): string {
  return shown(median(costs.map((cost) => cost[time])))
}

let homes = 0

/** From the call that starts the plan until the coordinator has answered, all results heard. */
async function costOf(scratch: Scratch, size: number): Promise<Cost> {
  const home = join(scratch.directory, `size-${homes++}`)
  const tasks = layered(Array.from({ length: size / perLayer }, () => perLayer))
  const script: PlanScript = { goal, tasks, output: outputOf(600), answer: 'Done.' }
  let planned: number | undefined
  let [cpu, wall] = [process.cpuUsage(), 0]
  const model = playedModel(script, {
    async plan({ id }) {
      planned ??= await insertPlanRows(home, id.split('/')[0] ?? '', tasks)
      return planned
    },
    onStart() {
      ;[cpu, wall] = [process.cpuUsage(), performance.now()]
    },
  })
  const app = await openHome({ home, model, agent: '@coordinator' })
  const work = await app.work()
  await ask(app, 'main', script.goal)
  const spent = process.cpuUsage(cpu)
  const cost = { cpu: (spent.user + spent.system) / 1000 / size, wall: (performance.now() - wall) / size }
  const done = (await app.plans()).map(({ counts }) => counts)
  await work.stop()
  await app.close()
  rmSync(home, { recursive: true })
  if (JSON.stringify(done) !== JSON.stringify([{ completed: size }])) throw new Error(`done: ${JSON.stringify(done)}`)
  return cost
}
