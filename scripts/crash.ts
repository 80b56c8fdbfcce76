import { parseArgs } from 'node:util'
import { chooseCycles, cycleNamed, secondKills, singleKills, soonerKill } from '../test/crash/choice.ts'
import { type Cycle, type CycleResult, type Mode, modes } from '../test/crash/cycle.ts'
import { type Ground, layGround } from '../test/crash/fixture.ts'
import { type Figures, Lanes } from '../test/crash/lanes.ts'
import { canPair, crashScenarios } from '../test/crash/scenarios.ts'
import { startPostgres } from '../test/setup/postgres.ts'

// Kills a real process at every crash point that a scenario passes, each time it passes it, and again during the
// recovery; kills one of two processes that work together; stops one for longer than its lease. Then the checker judges.
const usage = `npm run crash -- [options]
  --scenario NAME   ${crashScenarios.join(', ')}
  --mode MODE       ${modes.join(', ')}
  --database NAME   sqlite, postgres
  --cycles N        so many kills on each database, at every point first; a fifth of them again during the recovery
  --cycle NAME      only this cycle, as the output names it: 'plain on sqlite, alone: settle.before_commit#1'
  --times N         plays that cycle so many times
  --minutes N       begins nothing more after so many on each database
  --lanes N         cycles side by side
  --json            figures as JSON`
const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    mode: { type: 'string', multiple: true },
    database: { type: 'string' },
    cycles: { type: 'string' },
    cycle: { type: 'string' },
    times: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    lanes: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
// On PostgreSQL most of a cycle is waiting for a lease to pass.
const defaultLanes = { sqlite: 4, postgres: 10 }
const everyThird = 3
const singleShare = 0.8
/** Below this share of killed cycles the loop has proved too little. */
const leastShare = 0.75

const chosen = crashScenarios.filter((name) => values.scenario?.includes(name) ?? true)
const chosenModes = modes.filter((mode) => values.mode?.includes(mode) ?? true)
const named = values.cycle === undefined ? undefined : cycleNamed(values.cycle)
const database = named?.database ?? values.database
const databases = (['sqlite', 'postgres'] as const).filter((name) => (database ?? name) === name)
const isUnknown = values.cycle !== undefined && named === undefined
if (isUnknown || chosen.length === 0 || chosenModes.length === 0 || databases.length === 0) {
  console.error(usage)
  process.exit(2)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const wanted = values.cycles === undefined ? undefined : Number(values.cycles)
const figures: Record<string, Figures> = {}
for (const name of databases) {
  if (name === 'sqlite') await crashOn(name, 'sqlite')
  else await onPostgres((url) => crashOn(name, url))
}
if (values.json) console.log(JSON.stringify(figures))
else for (const [name, found] of Object.entries(figures)) console.log(name, found)
const found = Object.entries(figures)
for (const [name, { cycles, cyclesKilled, neverHit, notPassed }] of found) {
  console.error(`${name}: ${cyclesKilled} of ${cycles} cycles killed where they were to be`)
  if (named) continue
  if (neverHit.length > 0) console.error(`  points that were passed and never hit: ${neverHit.join(', ')}`)
  if (notPassed.length > 0) console.error(`  points that none of these scenarios passes: ${notPassed.join(', ')}`)
}
const isTooLittle = found.some(([, { cycles, cyclesKilled }]) => cyclesKilled < cycles * leastShare)
if (isTooLittle) console.error(`too few cycles were killed: at least ${leastShare} of them must be`)
process.exit(isTooLittle || found.some(([, { failed }]) => failed > 0) ? 1 : 0)

async function onPostgres(use: (url: string) => Promise<void>): Promise<void> {
  const given = process.env['HEDDLE_TEST_POSTGRES']
  if (given !== undefined) return use(given)
  const server = await startPostgres()
  await use(server.url).finally(server.stop)
}

/** Discovery tells where a scenario can die; then it dies at each place once, and the recoveries tell where they can. */
async function crashOn(name: keyof typeof defaultLanes, database: string): Promise<void> {
  const ground = await layGround()
  await crashEverywhere(ground, name, database).finally(ground.remove)
}

async function crashEverywhere(ground: Ground, name: keyof typeof defaultLanes, database: string): Promise<void> {
  const lanes = new Lanes(ground, name, Number(values.lanes ?? defaultLanes[name]), Number(values.minutes ?? Infinity))
  if (named) {
    await lanes.run(Array.from({ length: Number(values.times) }, () => ({ ...named, database })))
    figures[name] = lanes.figures(modes, [named.scenario])
    return
  }
  const undisturbed = (modes: Mode[]) =>
    modes.flatMap((mode) =>
      chosen
        .filter((scenario) => mode === 'alone' || canPair(scenario, database))
        .map((scenario): Cycle => ({ scenario, database, mode, at: [] })),
    )
  const isPairAsked = chosenModes.some((mode) => mode !== 'alone' && mode !== 'asleep')
  const singles = singleKills(await lanes.run(undisturbed(isPairAsked ? ['alone', 'first'] : ['alone'])), chosenModes)
  const killed = await killAt(
    lanes,
    chooseCycles(singles, wanted === undefined ? singles.length : wanted * singleShare),
  )
  const seconds = secondKills(killed)
  await killAt(lanes, chooseCycles(seconds, wanted === undefined ? killed.length / everyThird : wanted - lanes.cycles))
  figures[name] = lanes.figures(modes, chosen)
}

/** What ends before it reaches its place is played again, and dies at an earlier one. */
async function killAt(lanes: Lanes, cycles: Cycle[]): Promise<CycleResult[]> {
  const results = await lanes.run(cycles)
  const sooner = results.flatMap((result) => soonerKill(result) ?? [])
  return sooner.length === 0 ? results : [...results, ...(await killAt(lanes, sooner))]
}
