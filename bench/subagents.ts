import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { CrashPoint } from '../src/domain/crash-points.ts'
import type { Model, ModelRequest } from '../src/domain/model.ts'
import type { OwnerApp } from '../test/setup/owner-app.ts'
import { Commits } from './commits.ts'
import {
  type Figure,
  figure,
  measure,
  measurePairs,
  median,
  type Pairs,
  quantile,
  quantileFigure,
  ratio,
  shown,
} from './figures.ts'
import { openFloor } from './floor.ts'
import { ask, openHome } from './home.ts'
import { bootCopy, buildBoot, killUnderWay } from './runs-boot.ts'
import { folder, type Scratch } from './scratch.ts'
import { addEndedSubagents } from './subagents-home.ts'
import { zeroLatencyModel } from './zero-latency.ts'

const ended = 10_000
const spawns = 300
const rounds = 5
const perRound = 100
const pairs = 40
const boots = 9
const json = JSON.stringify('x'.repeat(670))

/** What a sub-agent costs its requester, and what ten thousand ended ones cost whoever comes later. */
export async function subagents(scratch: Scratch): Promise<Figure[]> {
  const [empty, full] = [join(scratch.directory, 'empty'), join(scratch.directory, 'full')]
  for (const home of [empty, full]) {
    const app = await openSpawning(home)
    await app.ask('hello')
    await app.close()
  }
  scratch.say(`a home of ${ended} ended sub-agents`)
  await addEndedSubagents(full, ended)
  const boot = await measureBoot(scratch, { empty, full })
  const [few, many] = [await openSpawning(empty), await openSpawning(full)]
  const homes = { few, many }
  const figures = [
    boot,
    await measureList(scratch, 'ps', (app) => app.runs(), homes),
    await measureList(
      scratch,
      'sessions',
      (app) => app.sessions({ folder, kind: 'person', archived: false, limit: 30 }),
      homes,
    ),
    await measureList(scratch, 'subagent list', (app) => app.subagents(), homes),
    await measureCall(scratch, 'spawn', homes),
    await measureSpawn(scratch, few),
    await measureAnnouncement(scratch, few),
    // The smaller home now has more than one page of ended sub-agents, too.
    await measureList(scratch, 'subagent history', (app) => app.subagents({ all: true }), homes),
    await measureCall(scratch, 'list', homes),
  ]
  await few.close()
  await many.close()
  return figures
}

/** A home whose agent calls the tool that it is asked to call, and whose sub-agents answer at once. */
interface SpawningHome {
  app: OwnerApp
  commits: Commits
  ask(content: string): Promise<void>
  /** Asks for a call; resolves with the time from the commit that begins it to the one that has its answer. */
  call(content: 'spawn' | 'list'): Promise<number>
  /** Asks for a sub-agent that ends after its requester; resolves with the time from its end to the requester's claim. */
  announce(): Promise<number>
  close(): Promise<void>
}

async function openSpawning(home: string): Promise<SpawningHome> {
  const commits = new Commits()
  const steps: number[] = []
  let settled: (() => void) | undefined
  let pause: Promise<void> | undefined
  const note = (point: CrashPoint) => {
    commits.note(point)
    if (point === 'step.after_commit') steps.push(performance.now())
    if (point === 'settle.after_commit') settled?.()
  }
  const model: Model = {
    ...zeroLatencyModel(),
    async reply(request) {
      if (isSubagent(request)) await pause
      return replyTo(request)
    },
  }
  const app = await openHome({ home, model, tools: [], crash: note })
  const work = await app.work()
  return {
    app,
    commits,
    ask: (content) => ask(app, 'main', content),
    async call(content) {
      steps.length = 0
      await ask(app, 'main', content)
      const [begun = 0, answered = 0] = steps
      return answered - begun
    },
    async announce() {
      const parent = Promise.withResolvers<void>()
      const child = Promise.withResolvers<void>()
      settled = parent.resolve
      pause = child.promise
      const answered = ask(app, 'announced', 'spawn and tell')
      await parent.promise
      settled = undefined
      pause = undefined
      commits.forget()
      child.resolve()
      await answered
      return commits.untilClaimed('settle')
    },
    async close() {
      await work.stop()
      await app.close()
    },
  }
}

const isSubagent = ({ system }: ModelRequest) => system.includes('You are a subagent spawned by')

async function replyTo(request: ModelRequest): ReturnType<Model['reply']> {
  const last = request.messages.at(-1)
  const [name, input] = (last?.role === 'user' && !isSubagent(request) && calls.get(last.content)) || []
  const reply = await zeroLatencyModel('It is done.').reply({ ...request, messages: [] }, () => undefined)
  return name === undefined ? reply : { ...reply, text: '', calls: [{ id: 'c1', name, input }], finish: 'calls' }
}

const calls = new Map<string, [name: string, input: object]>([
  ['spawn', ['sessions_spawn', { task: 'Do it.', memoryShareMode: 'isolated' }]],
  ['spawn and tell', ['sessions_spawn', { task: 'Do it.' }]],
  ['list', ['subagents', { action: 'list' }]],
])

async function measureSpawn(scratch: Scratch, home: SpawningHome): Promise<Figure> {
  scratch.say('sessions_spawn')
  const floor = openFloor(scratch, 'spawn-floor')
  const [times, bare]: [number[], number[]] = [[], []]
  for (let round = -20; round < spawns; round++) {
    const time = await home.call('spawn')
    const commit = await measure(() => floor.insert(`${round}`, null, json))
    if (round < 0) continue
    times.push(time)
    bare.push(commit)
  }
  floor.close()
  const commit = `a bare commit beside it: p99 ${shown(quantile(bare, 0.99))} ms, median ${shown(median(bare))} ms`
  const detail = `from the commit that begins the call to the commit with its answer, ${spawns} times; ${commit}`
  return quantileFigure('sessions_spawn: answer, p99', 'ms', { atMost: 3 }, times, 0.99, detail)
}

async function measureAnnouncement(scratch: Scratch, home: SpawningHome): Promise<Figure> {
  scratch.say('from the announcement to the claim of its requester')
  const floor = openFloor(scratch, 'announcement-floor')
  const found: { ours: number[]; bare: number[] }[] = []
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const times = { ours: [] as number[], bare: [] as number[] }
    for (let number = 0; number < perRound; number++) {
      times.ours.push(await home.announce())
      times.bare.push(await measure(() => floor.insert(`${round}-${number}`, null, json)))
    }
    if (round > 0) found.push(times)
  }
  floor.close()
  const p99 = (times: number[]) => quantile(times, 0.99)
  const all = { ours: found.flatMap(({ ours }) => ours), bare: found.flatMap(({ bare }) => bare) }
  const inOne = all.ours.filter((time) => time === 0).length
  const detail = [
    `p99 ${shown(p99(all.ours))} ms / ${shown(p99(all.bare))} ms`,
    `medians ${shown(median(all.ours))} and ${shown(median(all.bare))} ms, ${rounds} times ${perRound}`,
    `in ${inOne} of ${all.ours.length} one commit is both`,
  ].join(', ')
  const ratios = found.map(({ ours, bare }) => p99(ours) / p99(bare))
  const name = 'COMMIT of an announcement → COMMIT of its requester’s claim, p99 / a bare commit'
  return figure(name, 'ratio', { atMost: 3 }, ratios, detail)
}

/** A process that was killed with one run under way: how soon does the next one go on with it? */
async function measureBoot(scratch: Scratch, homes: { empty: string; full: string }): Promise<Figure> {
  scratch.say('starts')
  const program = await buildBoot(scratch)
  const left = { empty: `${homes.empty}-killed`, full: `${homes.full}-killed` }
  for (const side of ['empty', 'full'] as const) {
    cpSync(homes[side], left[side], { recursive: true })
    const app = await openHome({ home: left[side], model: zeroLatencyModel() })
    await app.submit(folder, { session: 'pending', content: 'hello' })
    await app.close()
    await killUnderWay(program, left[side], 1)
  }
  const sides = { ours: () => bootCopy(program, left.full, 1), floor: () => bootCopy(program, left.empty, 1) }
  const found: Pairs = { ours: [], floor: [] }
  for (let boot = 0; boot < boots; boot++)
    for (const side of boot % 2 === 0 ? (['ours', 'floor'] as const) : (['floor', 'ours'] as const))
      found[side].push(await sides[side]())
  return compared('boot → first recovered run', found)
}

interface Homes {
  few: SpawningHome
  many: SpawningHome
}

async function measureList(
  scratch: Scratch,
  name: string,
  list: (app: OwnerApp) => Promise<unknown>,
  { few, many }: Homes,
): Promise<Figure> {
  scratch.say(name)
  const sides = { ours: () => list(many.app), floor: () => list(few.app) }
  return compared(`heddle ${name}`, await measurePairs(sides, { pairs, warmUp: 10 }))
}

/** A call of the agent: each side takes its turn. */
async function measureCall(scratch: Scratch, content: 'spawn' | 'list', { few, many }: Homes): Promise<Figure> {
  const name = content === 'spawn' ? 'sessions_spawn' : 'the tool subagents: list'
  scratch.say(name)
  const found = { ours: [] as number[], floor: [] as number[] }
  for (let pair = -5; pair < pairs; pair++) {
    const [ours, floor] = [await many.call(content), await few.call(content)]
    if (pair < 0) continue
    found.ours.push(ours)
    found.floor.push(floor)
  }
  return compared(name, found)
}

function compared(name: string, found: { ours: number[]; floor: number[] }): Figure {
  const sides: [string, string] = [`${ended} ended sub-agents`, 'few']
  return ratio(`${name}: ${ended} ended sub-agents / few`, { atMost: 1.2 }, found, sides)
}
