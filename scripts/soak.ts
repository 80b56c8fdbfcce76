import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { MediocreName } from '../src/testing.ts'
import { Databases } from '../test/crash/databases.ts'
import { Watch } from '../test/crash/watch.ts'
import { seededChance } from '../test/engine/simulator-schedule.ts'
import { startPostgres } from '../test/setup/postgres.ts'
import { complaintsOf, isAccounted, type Outcome } from '../test/soak/judge.ts'
import { playRound } from '../test/soak/round.ts'
import { type SoakRow, soakRows } from '../test/soak/rows.ts'
import type { Stage } from '../test/soak/stage.ts'

// Plans of twelve tasks, carried out by mediocre models behind a real provider, while real daemons are killed.
const usage = `npm run soak -- plans [options]
  --minutes N   begins no plan after so many minutes; each row has at least one (1)
  --row NAME    ${soakRows.map(({ name }) => name).join(', ')}; all if none is named
  --lanes N     rows side by side (3)
  --seed N      decides when daemons are killed (1)
  --json        figures as one JSON document
  --help        this text
Exit code: 0 if every task of every plan has ended and is told truly, nothing is lost or doubled, and the provider's log of
tokens is what heddle counts as spent, or differs by no more than it marks with ~; 1 if not; 2 for wrong arguments.`

const minute = 60_000
const lookEvery = 50
const tasks = 12
const mostKills = 10
/** Who coordinates one plan after the other. */
const tellers: (MediocreName | undefined)[] = [
  ...(['liar', undefined, 'half-json-caller', 'silent', 'retrier', 'over-long', 'prose-planner', 'looper'] as const),
]

const options = readArguments()
const directory = mkdtempSync(join(tmpdir(), 'heddle-soak-'))
const stages = new Set<Stage>()
let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined
let databases: Databases | undefined
let checker: Watch | undefined
let isEnding = false
const interrupted = new Promise<number>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(130))
})
const playing = main().catch(tellFailure)
const code = await Promise.race([playing, interrupted])
isEnding = true
// A stage that is just being opened can be removed only when it is there.
for (let isOver = false; !isOver; ) {
  await Promise.all([...stages].map((stage) => stage.remove()))
  isOver = await Promise.race([playing.then(() => true), pause(lookEvery).then(() => false)])
}
checker?.close()
await databases?.close()
await postgres?.stop()
rmSync(directory, { recursive: true, force: true })
process.exit(code)

async function main(): Promise<number> {
  const server = options.rows.some(({ database }) => database === 'postgres') ? await serverUrl() : ''
  databases = new Databases(directory)
  checker = new Watch()
  const outcomes = new Map<string, Outcome[]>(options.rows.map(({ name }) => [name, []]))
  const common = { server, databases, checker, tasks, mostKills, onStage: (stage: Stage) => void stages.add(stage) }
  const left = rounds()
  const lane = async () => {
    for (const { row, round } of left) {
      const chance = seededChance(options.seed * 1000 + round * soakRows.length + soakRows.indexOf(row))
      const outcome = await playRound(row, { ...common, chance, teller: tellers[round % tellers.length] })
      outcomes.get(row.name)?.push(outcome)
      for (const complaint of complaintsOf(outcome))
        process.stderr.write(`${row.name}, plan ${round + 1}: ${complaint}\n`)
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: options.lanes }, lane))
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason
  const figures = [...outcomes].map(([row, plans]) => figuresOf(row, plans))
  console.log(options.json ? JSON.stringify({ seed: options.seed, rows: figures }) : pageOf(figures))
  return [...outcomes.values()].flat().some((outcome) => complaintsOf(outcome).length > 0) ? 1 : 0
}

/** Each row once, then again from the first on until the time is up. */
function* rounds(): Generator<{ row: SoakRow; round: number }> {
  const until = performance.now() + options.minutes * minute
  for (let round = 0; ; round++)
    for (const row of options.rows) {
      if (isEnding || (round > 0 && performance.now() > until)) return
      yield { row, round }
    }
}

async function serverUrl(): Promise<string> {
  const given = process.env['HEDDLE_TEST_POSTGRES']
  if (given !== undefined) return given
  postgres = await startPostgres()
  return postgres.url
}

function figuresOf(row: string, plans: Outcome[]) {
  const sum = (of: (plan: Outcome) => number) => plans.reduce((total, plan) => total + of(plan), 0)
  return {
    row,
    plans: plans.length,
    kills: sum(({ kills }) => kills),
    planned: sum(({ planned }) => planned),
    ended: sum(({ ended }) => ended),
    lost: sum(({ lost }) => lost.length),
    doubled: sum(({ doubled }) => doubled.length),
    untrue: sum(({ untrue }) => untrue.length),
    usageDifference: sum(({ usage }) => usage.tokens),
    isUsageMarked: plans.some(({ usage }) => usage.marked > 0),
    isUsageAccounted: plans.every(({ usage }) => isAccounted(usage)),
    sideBySide: Math.max(0, ...plans.map((plan) => plan.sideBySide)),
  }
}

function pageOf(figures: ReturnType<typeof figuresOf>[]): string {
  const head = ['', 'plans', 'kills', 'tasks ended', 'lost', 'doubled', 'untrue', 'usage differs', 'side by side']
  const rows = figures.map((each) => [
    each.row,
    ...[each.plans, each.kills],
    `${each.ended} of ${each.planned}`,
    ...[each.lost, each.doubled, each.untrue],
    `${each.isUsageMarked ? '~' : ''}${each.usageDifference}${each.isUsageAccounted ? '' : ' !'}`,
    each.sideBySide,
  ])
  const lines = [head, ...rows].map((row) => row.map(String))
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) => line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))))
    .map((line) => line.join('  ').trimEnd())
    .join('\n')
}

function tellFailure(error: unknown): number {
  // Whoever is interrupted has its daemons taken away.
  if (!isEnding) process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  return 1
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        minutes: { type: 'string', default: '1' },
        row: { type: 'string', multiple: true, default: [] },
        lanes: { type: 'string', default: '3' },
        seed: { type: 'string', default: '1' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      console.log(usage)
      process.exit(0)
    }
    if (positionals.join(' ') !== 'plans') throw new Error('say what shall be soaked: plans')
    for (const name of values.row)
      if (!soakRows.some((row) => row.name === name)) throw new Error(`there is no row "${name}"`)
    return {
      rows: soakRows.filter(({ name }) => values.row.length === 0 || values.row.includes(name)),
      minutes: numberFrom('--minutes', values.minutes, /^\d+(?:\.\d+)?$/),
      lanes: numberFrom('--lanes', values.lanes, /^[1-9]\d?$/),
      seed: numberFrom('--seed', values.seed, /^\d{1,9}$/),
      json: values.json,
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

function numberFrom(option: string, text: string, form: RegExp): number {
  if (!form.test(text)) throw new Error(`${option} takes a number, not "${text}"`)
  return Number(text)
}
