import { performance } from 'node:perf_hooks'
import { type CrashPoint, crashPoints } from '../../src/domain/crash-points.ts'
import { cycleName } from './choice.ts'
import { type Cycle, type CycleResult, runCycle } from './cycle.ts'
import type { Ground } from './fixture.ts'

const minute = 60_000
const tellEvery = 5000

/** What came of many cycles. */
export interface Figures {
  /** Cycles in which a process was to be killed or stopped; those that only look for places are not counted. */
  cycles: number
  /** Of these, how many reached each place at which they were to be. */
  cyclesKilled: number
  /** How many processes were killed or stopped. */
  killed: number
  /** Cycles in which something was acknowledged or begun and never brought to an end. */
  lost: number
  /** Cycles in which something happened more than once where once was promised. */
  doubled: number
  /** Cycles with any problem. */
  failed: number
  cyclesPerMinute: number
  p95RecoveryMs: number
  perMode: object
  perScenario: object
  /** How often a process was killed or stopped at each crash point. */
  perPoint: Record<string, number>
  /** Points that a process passed, and none was killed or stopped at. */
  neverHit: CrashPoint[]
  /** Points that no process passed, without those that this database does not have. */
  notPassed: CrashPoint[]
}

/** A restore on a server is one transaction: there is no moment between two renames. */
const onlyOnSqlite: readonly CrashPoint[] = ['restore.between_swap']

/** Runs cycles side by side, tells how it goes, and keeps what came of them. */
export class Lanes {
  readonly results: CycleResult[] = []
  readonly #ground: Ground
  readonly #name: string
  readonly #width: number
  readonly #end: number
  readonly #started = performance.now()
  #told = 0

  constructor(ground: Ground, name: string, width: number, minutes: number) {
    this.#ground = ground
    this.#name = name
    this.#width = width
    this.#end = this.#started + minutes * minute
  }

  /** Whether its time is up: then nothing more is begun. */
  get isOver(): boolean {
    return performance.now() > this.#end
  }

  /** How many cycles with a kill there were. */
  get cycles(): number {
    return this.results.filter(isDeadly).length
  }

  async run(cycles: Cycle[]): Promise<CycleResult[]> {
    const done: CycleResult[] = []
    const left = cycles.values()
    const lane = async () => {
      for (const cycle of left) {
        if (this.isOver) return
        const result = await runCycle(this.#ground, cycle)
        done.push(result)
        this.results.push(result)
        if (result.problems.length > 0) this.#complain(result)
        this.#tell(cycles.length - done.length)
      }
    }
    await Promise.all(Array.from({ length: this.#width }, lane))
    return done
  }

  figures(modes: readonly string[], scenarios: readonly string[]): Figures {
    const { results } = this
    const hit = perPoint(results)
    const passed = new Set(results.flatMap(({ passes }) => Object.values(passes).flatMap((each) => Object.keys(each))))
    const broken = (...ids: string[]) =>
      results.filter(({ problems }) => problems.some((problem) => ids.includes(problem.split(':')[0] ?? ''))).length
    const per = (groups: readonly string[], of: (cycle: Cycle) => string) =>
      Object.fromEntries(groups.map((group) => [group, summed(results.filter(({ cycle }) => of(cycle) === group))]))
    return {
      ...summed(results),
      lost: broken('I1', 'I2', 'I4', 'I7', 'I8', 'I11'),
      doubled: broken('I3', 'I5', 'I6', 'I9', 'I12'),
      failed: this.#failed(),
      cyclesPerMinute: this.#pace(),
      perMode: per(modes, ({ mode }) => mode),
      perScenario: per(scenarios, ({ scenario }) => scenario),
      perPoint: hit,
      neverHit: crashPoints.filter((point) => passed.has(point) && !Object.hasOwn(hit, point)),
      notPassed: crashPoints.filter(
        (point) =>
          !passed.has(point) &&
          !Object.hasOwn(hit, point) &&
          (this.#name === 'sqlite' || !onlyOnSqlite.includes(point)),
      ),
    }
  }

  #failed(): number {
    return this.results.filter(({ problems }) => problems.length > 0).length
  }

  #pace(): number {
    return Math.round(this.results.length / ((performance.now() - this.#started) / minute))
  }

  #tell(left: number): void {
    const now = performance.now()
    if (now - this.#told < tellEvery && left > 0) return
    this.#told = now
    const how = `${this.#pace()} a minute, ${this.#failed()} with problems`
    process.stderr.write(`${this.#name}: ${this.results.length} cycles, ${left} to go, ${how}\n`)
  }

  #complain({ cycle, problems }: CycleResult): void {
    const name = cycleName(cycle)
    process.stderr.write(`${name}\n`)
    for (const problem of problems) process.stderr.write(`  ${problem}\n`)
    process.stderr.write(`  again: npm run crash -- --cycle '${name}' --times 20\n`)
  }
}

function perPoint(results: CycleResult[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { cycle, killed } of results)
    for (const point of cycle.at.slice(0, killed).map((at) => at.split('#')[0] ?? ''))
      counts[point] = (counts[point] ?? 0) + 1
  return counts
}

function isDeadly({ cycle }: CycleResult): boolean {
  return cycle.at.length > 0
}

function summed(results: CycleResult[]): Pick<Figures, 'cycles' | 'cyclesKilled' | 'killed' | 'p95RecoveryMs'> {
  // Pauses that were asked for are included; cycles in which nothing had to be recovered are not.
  const times = results
    .filter(({ killed }) => killed > 0)
    .map(({ recoveryMs }) => recoveryMs)
    .sort((a, b) => a - b)
  const deadly = results.filter(isDeadly)
  return {
    cycles: deadly.length,
    cyclesKilled: deadly.filter(({ cycle, killed }) => killed === cycle.at.length).length,
    killed: results.reduce((sum, { killed }) => sum + killed, 0),
    p95RecoveryMs: Math.round(times[Math.ceil(times.length * 0.95) - 1] ?? 0),
  }
}
