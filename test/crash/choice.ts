import { type Cycle, type CycleResult, type Mode, modes } from './cycle.ts'
import { mixed, oneOfEachFirst, placesOf, spread } from './places.ts'
import type { Passes } from './said.ts'
import { canPair, type ScenarioName, scenarios } from './scenarios.ts'

/** Every place of undisturbed cycles at which a process can die, by each of these modes. */
export function singleKills(undisturbed: CycleResult[], modes: readonly Mode[]): Cycle[] {
  return mixed(undisturbed.flatMap((result) => modes.flatMap((mode) => placesFor(mode, result))))
}

/** Where the processes that recovered from a kill can die as well. */
export function secondKills(killed: CycleResult[]): Cycle[] {
  const alone = killed.filter(({ cycle, killed }) => cycle.mode === 'alone' && killed === cycle.at.length)
  return mixed(
    alone.flatMap(({ cycle, passes }) =>
      placesReached(passes.recovery).map((at): Cycle => ({ ...cycle, at: [...cycle.at, at] })),
    ),
  )
}

/** So many of the cycles: one at each point first, then one at each point by each mode, the others evenly spread. */
export function chooseCycles(kills: Cycle[], most: number): Cycle[] {
  const byPointAndMode = (cycle: Cycle) => `${cycle.mode} ${pointOf(cycle)}`
  const kinds = new Set(kills.map(byPointAndMode)).size
  const ordered = oneOfEachFirst(oneOfEachFirst(kills, byPointAndMode), pointOf)
  return [...ordered.slice(0, Math.min(kinds, most)), ...spread(ordered.slice(kinds), Math.max(0, most - kinds))]
}

/** A cycle that ended before its last place was reached, at an earlier pass of the same point. */
export function soonerKill({ cycle, killed }: CycleResult): Cycle | undefined {
  const [point, pass] = cycle.at.at(-1)?.split('#') ?? []
  const sooner = Math.floor(Number(pass) / 2)
  if (killed === cycle.at.length || !(sooner > 0)) return undefined
  return { ...cycle, at: cycle.at.with(-1, `${point}#${sooner}`) }
}

/** What a cycle is called in the output of the loop, by which it can be played again. */
export function cycleName({ scenario, database, mode, at }: Cycle): string {
  return `${scenario} on ${database === 'sqlite' ? 'sqlite' : 'postgres'}, ${mode}: ${at.join(', then ')}`
}

/** The cycle of that name; its database is told by its kind. Undefined for a name that no cycle has. */
export function cycleNamed(name: string): (Cycle & { database: 'sqlite' | 'postgres' }) | undefined {
  const [, scenario = '', database = '', mode = '', places = ''] =
    /^(\S+) on (sqlite|postgres), (\S+): *(.*)$/.exec(name) ?? []
  if (!Object.hasOwn(scenarios, scenario) || !modes.some((each) => each === mode)) return undefined
  return {
    scenario: scenario as ScenarioName,
    database: database as 'sqlite' | 'postgres',
    mode: mode as Mode,
    at: places === '' ? [] : places.split(', then '),
  }
}

/** The point of a cycle's last kill. */
export function pointOf({ at }: Cycle): string {
  return at.at(-1)?.split('#')[0] ?? ''
}

function placesFor(mode: Mode, { cycle, passes }: CycleResult): Cycle[] {
  const isPair = cycle.mode === 'first'
  if (mode === 'asleep' && !canPair(cycle.scenario, cycle.database)) return []
  if (isPair !== (mode === 'first' || mode === 'second')) return []
  const places = placesReached(mode === 'second' ? passes.second : passes.first)
  // A process that is stopped inside a transaction keeps its locks: no other can write until it goes on.
  const possible = mode === 'asleep' ? places.filter((at) => !at.includes('.before_commit')) : places
  return possible.map((at): Cycle => ({ ...cycle, mode, at: [at] }))
}

/** What a process does by the clock happens as often as the machine is slow: only the first of it is sure to come again. */
function placesReached(passes: Passes): string[] {
  return placesOf(passes).filter((at) => !at.startsWith('owner.') || at.endsWith('#1'))
}
