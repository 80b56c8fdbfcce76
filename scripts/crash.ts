import { parseArgs } from 'node:util'
import { type Cycle, type CycleResult, type Mode, modes } from '../test/crash/cycle.ts'
import { type Ground, layGround } from '../test/crash/fixture.ts'
import { type Figures, Lanes } from '../test/crash/lanes.ts'
import { mixed, oneOfEachFirst, placesOf, spread } from '../test/crash/places.ts'
import { canPair, crashScenarios } from '../test/crash/scenarios.ts'
import { startPostgres } from '../test/setup/postgres.ts'

// Kills a real process at every crash point that a scenario passes, each time it passes it, and again during the
// recovery; kills one of two processes that work together; stops one for longer than its lease. Then the checker judges.
const usage = `npm run crash -- [options]
  --scenario NAME   ${crashScenarios.join(', ')}
  --mode MODE       ${modes.join(', ')}
  --database NAME   sqlite, postgres
  --cycles N        so many on each database: second kills until it is enough, or a spread choice where it is less
  --minutes N       begins nothing more after so many on each database
  --lanes N         cycles side by side
  --json            figures as JSON`
const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    mode: { type: 'string', multiple: true },
    database: { type: 'string' },
    cycles: { type: 'string' },
    minutes: { type: 'string' },
    lanes: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
// On PostgreSQL most of a cycle is waiting for a lease to pass.
const defaultLanes = { sqlite: 4, postgres: 10 }
const everyThird = 3

const chosen = crashScenarios.filter((name) => values.scenario?.includes(name) ?? true)
const chosenModes = modes.filter((mode) => values.mode?.includes(mode) ?? true)
const databases = (['sqlite', 'postgres'] as const).filter((name) => (values.database ?? name) === name)
if (chosen.length === 0 || chosenModes.length === 0 || databases.length === 0) {
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
process.exit(Object.values(figures).some(({ failed }) => failed > 0) ? 1 : 0)

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
  const undisturbed = (modes: Mode[]) =>
    modes.flatMap((mode) =>
      chosen
        .filter((scenario) => mode === 'alone' || canPair(scenario, database))
        .map((scenario): Cycle => ({ scenario, database, mode, at: [] })),
    )
  const found = await lanes.run(
    undisturbed(chosenModes.some((mode) => mode !== 'alone' && mode !== 'asleep') ? ['alone', 'first'] : ['alone']),
  )
  const singles = mixed(found.flatMap((result) => placesIn(result)))
  const left = wanted === undefined ? singles.length : Math.max(0, wanted - lanes.results.length)
  const killed = (await lanes.run(chooseCycles(singles, left))).filter((result) => result.killed > 0)
  const seconds = killed.filter(({ cycle }) => cycle.mode === 'alone').map((first) => secondKills(first))
  if (wanted === undefined) {
    await lanes.run(seconds.filter((_, at) => at % everyThird === 0).flatMap((kills, at) => rotated(kills, at)))
  } else {
    // A little of each first kill, then a little more, until it is enough.
    for (let round = 0; lanes.results.length < wanted && seconds.length > 0 && !lanes.isOver; round++)
      await lanes.run(
        seconds.flatMap((kills, at) => rotated(kills, at + round)).slice(0, wanted - lanes.results.length),
      )
  }
  figures[name] = lanes.figures(modes, chosen)
}

/** So many of the cycles: a kill at each point by each mode first, the others evenly spread. */
function chooseCycles(singles: Cycle[], most: number): Cycle[] {
  const kindOf = ({ mode, at }: Cycle) => `${mode} ${at[0]?.split('#')[0]}`
  const kinds = new Set(singles.map(kindOf)).size
  const ordered = oneOfEachFirst(singles, kindOf)
  return [...ordered.slice(0, Math.min(kinds, most)), ...spread(ordered.slice(kinds), Math.max(0, most - kinds))]
}

/** Each place of an undisturbed cycle, for every mode that was asked for. */
function placesIn({ cycle, passes }: CycleResult): Cycle[] {
  const isPair = cycle.mode === 'first'
  return chosenModes.flatMap((mode) => {
    if (mode === 'asleep' && !canPair(cycle.scenario, cycle.database)) return []
    if (isPair !== (mode === 'first' || mode === 'second')) return []
    const places = placesOf(mode === 'second' ? passes.second : passes.first)
    // Whoever is stopped inside a transaction keeps its locks: nobody else can write until it goes on.
    const possible = mode === 'asleep' ? places.filter((at) => !at.includes('.before_commit')) : places
    return possible.map((at): Cycle => ({ ...cycle, mode, at: [at] }))
  })
}

function secondKills({ cycle, passes }: CycleResult): Cycle[] {
  return placesOf(passes.recovery).map((at) => ({ ...cycle, at: [...cycle.at, at] }))
}

function rotated(kills: Cycle[], at: number): Cycle[] {
  const kill = kills[at % kills.length]
  return kill ? [kill] : []
}
