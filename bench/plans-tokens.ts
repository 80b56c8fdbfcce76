import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type Figure, figure, type Goal, missing } from './figures.ts'
import { ask, openHome } from './home.ts'
import { installPeers, peerProgram, versionOf } from './peers.ts'
import { goal, layered, outputOf, type PlanScript, playedModel } from './plans-script.ts'
import type { Scratch } from './scratch.ts'

const most = 22_500
const waves = [4, 4, 4, 4, 4]
const times = 3

/** What a coordinator is sent: nothing of it depends on the machine, and counting again finds the same. */
export async function measureTokens(scratch: Scratch): Promise<Figure[]> {
  scratch.say('what coordinators are sent')
  const counts = { few: [] as number[][], many: [] as number[][], ours: [] as number[][] }
  const theirs: (number[] | { missing: string })[] = []
  for (let time = 1; time <= times; time++) {
    counts.few.push(await requestsFor(scratch, `plan-of-5-${time}`, scriptOf([5])))
    counts.many.push(await requestsFor(scratch, `plan-of-25-${time}`, scriptOf([5, 5, 5, 5, 5])))
    counts.ours.push(await requestsFor(scratch, `plan-of-20-${time}`, scriptOf(waves)))
    theirs.push(deepagentsRequests(scratch, scriptOf(waves)))
  }
  const { few, many, ours } = counts
  const [each, whole] = [many.map((requests, time) => (sum(requests) - sum(few[time])) / 20), ours.map(sum)]
  const fromRun = ours.map((requests) => requests.slice(-2))
  return [
    figure(
      'coordinator input per further task',
      'tokens',
      { atMost: 150 },
      each,
      `(25 tasks ${sum(many[0])} - 5 tasks ${sum(few[0])}) / 20, outputs of 4 kB; ${counted}`,
    ),
    figure(
      '20 tasks in five waves: all coordinator requests, from the goal to the answer',
      'tokens',
      // The goal is to stay below.
      { atMost: most - 1 },
      whole,
      `scheduling: auto; research, planning, run_project, answer: ${ours[0]?.join(' + ')}; ${counted}`,
    ),
    figure(
      '20 tasks in five waves: without research and planning, only from run_project to the answer',
      'tokens',
      null,
      fromRun.map(sum),
      `the last two of these requests: ${fromRun[0]?.join(' + ')}; ${counted}`,
    ),
    againstDeepagents('the same from the goal to the answer / deepagents', { atMost: 0.2 }, ours, theirs),
    againstDeepagents('the same only from run_project to the answer / deepagents', null, fromRun, theirs),
  ]
}

const counted = `characters / 4 of system prompt, messages and tools, counted ${times} times`

function againstDeepagents(
  name: string,
  goal: Goal,
  ours: number[][],
  theirs: (number[] | { missing: string })[],
): Figure {
  const absent = theirs.find((peer) => 'missing' in peer)
  if (absent) return missing(name, 'ratio', goal, absent.missing)
  const peer = theirs as number[][]
  const ratios = ours.map((requests, time) => sum(requests) / sum(peer[time]))
  const version = `deepagents ${versionOf('deepagents')} with its defaults`
  const detail = `${sum(ours[0])} tokens / ${version} ${sum(peer[0])} tokens: ${peer[0]?.join(' + ')}; ${counted}`
  return figure(name, 'ratio', goal, ratios, detail)
}

async function requestsFor(scratch: Scratch, name: string, script: PlanScript): Promise<number[]> {
  const model = playedModel(script)
  const app = await openHome({ home: join(scratch.directory, name), model, agent: '@coordinator' })
  const work = await app.work()
  await ask(app, 'main', script.goal)
  await work.stop()
  await app.close()
  return model.coordinator
}

/** The same goal, outputs and order of tasks; its coordinator hands each task out itself, by its title alone. */
function deepagentsRequests(scratch: Scratch, script: PlanScript): number[] | { missing: string } {
  const trouble = installPeers(scratch)
  if (trouble !== undefined) return { missing: trouble }
  const order = JSON.stringify({ ...script, waves })
  const { status, stdout, stderr } = spawnSync(process.execPath, [peerProgram('deepagents'), order], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], NODE_NO_WARNINGS: '1' },
  })
  if (status === 0) return JSON.parse(stdout) as number[]
  return { missing: `it does not run here: ${stderr.split('\n').find((line) => /Error/.test(line)) ?? stderr}` }
}

function scriptOf(sizes: number[]): PlanScript {
  return { goal, tasks: layered(sizes), output: outputOf(4000), answer: 'The report is written.' }
}

function sum(values: number[] = []): number {
  return values.reduce((total, value) => total + value, 0)
}
