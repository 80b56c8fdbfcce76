import { parseArgs } from 'node:util'
import type { Passes } from '../test/crash/act.ts'
import { type Cycle, type CycleResult, runCycle } from '../test/crash/cycle.ts'
import { type Scenario, scenarios } from '../test/crash/scenarios.ts'
import { startPostgres } from '../test/setup/postgres.ts'

// `npm run crash -- [--scenario x] [--database sqlite|postgres] [--cycles N] [--json]`: kills a real process at every
// crash point that a scenario passes, each time it passes it, and again during the recovery; then the checker judges.
// Without --cycles every third kill has a second one during recovery; with it there are second kills until N is reached.
const { values } = parseArgs({
  options: {
    scenario: { type: 'string' },
    database: { type: 'string' },
    cycles: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const atOnce = 2
const everyThird = 3

const results: CycleResult[] = []
const chosen = scenarios.filter((name) => values.scenario === undefined || name === values.scenario)
const databases = (['sqlite', 'postgres'] as const).filter(
  (name) => values.database === undefined || values.database === name,
)
if (chosen.length === 0 || databases.length === 0) {
  console.error(`choose --scenario ${scenarios.join('|')} and --database sqlite|postgres, or leave them out`)
  process.exit(2)
}
for (const database of databases) {
  if (database === 'sqlite') await crashOn('sqlite')
  else await onPostgres(crashOn)
}
tell()
process.exit(results.some(({ problems }) => problems.length > 0) ? 1 : 0)

async function onPostgres(use: (url: string) => Promise<void>): Promise<void> {
  const given = process.env['HEDDLE_TEST_POSTGRES']
  if (given !== undefined) return use(given)
  const server = await startPostgres()
  await use(server.url).finally(server.stop)
}

/** Discovery tells where a scenario can die; then it dies at each place once, and the recoveries tell where they can. */
async function crashOn(database: string): Promise<void> {
  const discovered = await inLanes(chosen.map((scenario): Cycle => ({ scenario, database, kills: [] })))
  const singles = await inLanes(
    discovered.flatMap(({ cycle, passes }) => placesOf(passes.scenario).map((at) => ({ ...cycle, kills: [at] }))),
  )
  const seconds = singles.filter(({ killed }) => killed > 0).map((first) => secondKills(first))
  if (values.cycles === undefined) {
    await inLanes(seconds.filter((_, at) => at % everyThird === 0).flatMap((kills, at) => rotated(kills, at)))
    return
  }
  // A little of each first kill, then a little more, until it is enough.
  const wanted = Math.ceil(Number(values.cycles) / databases.length)
  const done = () => results.filter(({ cycle }) => cycle.database === database).length
  for (let round = 0; done() < wanted && seconds.length > 0; round++)
    await inLanes(seconds.flatMap((kills, at) => rotated(kills, at + round)).slice(0, wanted - done()))
}

function secondKills({ cycle, passes }: CycleResult): Cycle[] {
  return placesOf(passes.recovery).map((at) => ({ ...cycle, kills: [...cycle.kills, at] }))
}

function rotated(kills: Cycle[], at: number): Cycle[] {
  const kill = kills[at % kills.length]
  return kill ? [kill] : []
}

function placesOf(passes: Passes): string[] {
  return Object.entries(passes).flatMap(([point, count]) =>
    Array.from({ length: count }, (_, at) => `${point}#${at + 1}`),
  )
}

async function inLanes(cycles: Cycle[]): Promise<CycleResult[]> {
  const done: CycleResult[] = []
  const left = cycles.values()
  const lane = async () => {
    for (const cycle of left) {
      const result = await runCycle(cycle)
      done.push(result)
      results.push(result)
      if (result.problems.length > 0) complain(result)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return done
}

function complain({ cycle, problems }: CycleResult): void {
  const [first, ...more] = cycle.kills
  const kind = cycle.database === 'sqlite' ? 'sqlite' : 'postgres'
  const again = more.length > 0 ? `, then HEDDLE_CRASH_AT=${more.join(' and ')} during recovery` : ''
  console.error(`${cycle.scenario} on ${kind}: HEDDLE_CRASH_AT=${first ?? ''}${again}`)
  for (const problem of problems) console.error(`  ${problem}`)
}

/** Lost: acknowledged or begun and never brought to an end. Doubled: more than once where once was promised. */
function tell(): void {
  const broken = (...ids: string[]) =>
    results.filter(({ problems }) => problems.some((problem) => ids.includes(problem.split(':')[0] ?? ''))).length
  const perScenario = chosen.map((scenario: Scenario) => {
    const own = results.filter(({ cycle }) => cycle.scenario === scenario)
    return [scenario, { cycles: own.length, p95RecoveryMs: p95(own) }]
  })
  const figures = {
    cycles: results.length,
    kills: results.reduce((sum, { killed }) => sum + killed, 0),
    lost: broken('I1', 'I2', 'I8', 'I11'),
    doubled: broken('I3', 'I5', 'I6', 'I9', 'I12'),
    failed: results.filter(({ problems }) => problems.length > 0).length,
    p95RecoveryMs: p95(results),
    perScenario: Object.fromEntries(perScenario),
  }
  if (values.json) console.log(JSON.stringify(figures))
  else for (const [name, value] of Object.entries(figures)) console.log(`${name}: ${JSON.stringify(value)}`)
}

/** From the start of the process that recovers to the moment nothing is left to do, pauses that were asked for included. */
function p95(of: CycleResult[]): number {
  const times = of.map(({ recoveryMs }) => recoveryMs).sort((a, b) => a - b)
  return Math.round(times[Math.ceil(times.length * 0.95) - 1] ?? 0)
}
