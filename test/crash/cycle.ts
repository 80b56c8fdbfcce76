import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { untilSo } from '../setup/until.ts'
import type { Act } from './act.ts'
import type { CrashWorld, Ground } from './fixture.ts'
import { beginLife, type Life, type LifeEnd } from './life.ts'
import type { Passes, Said } from './said.ts'
import { type ScenarioName, scenarioNamed } from './scenarios.ts'
import { isWriteLocked } from './write-lock.ts'

/**
 * `alone`: the only process is killed, then others recover. `first` and `second`: two processes are at work, one of
 * them is killed and the other takes over. `asleep`: a process is stopped for longer than its lease, another takes
 * over, then the first goes on.
 */
export const modes = ['alone', 'first', 'second', 'asleep'] as const
export type Mode = (typeof modes)[number]

const defaultLease = 10
const shortLease = 3

export interface Cycle {
  scenario: ScenarioName
  /** `sqlite`, or the address of a server on which the cycle makes a database of its own. */
  database: string
  mode: Mode
  /** `point#n`. Alone: where the first process dies, then the ones that recover; the last recovery is left alone. */
  at: string[]
  /** By default short where only silence tells that a process is dead, but long enough for a busy machine. */
  leaseSeconds?: number
}

export interface CycleResult {
  cycle: Cycle
  /** How many of the places were reached. */
  killed: number
  /** The latest claim of a run that asked the provider something: above 1 somebody has taken over, or tried again. */
  claims: number
  /** What each process passed that was not killed. */
  passes: { first: Passes; second: Passes; recovery: Passes }
  /** Until nothing was left to do: from the start of the process that recovers, or from the death of the other. */
  recoveryMs: number
  problems: string[]
}

/** What is asked of the checker, besides the rows. */
interface Story extends Omit<CycleResult, 'cycle' | 'problems'> {
  said: Said[]
  /** What the processes themselves complained of. */
  problems: string[]
  /** Rows as they were in between. */
  moments: string[]
}

/** One life: a process dies or sleeps where it is told to, others take over, and the checker judges what there is. */
export async function runCycle(ground: Ground, cycle: Cycle): Promise<CycleResult> {
  const runtime = await ground.newTestRuntime(cycle.scenario, cycle.database)
  try {
    const story = await liveThrough(ground, runtime, cycle)
    const problems = [...story.problems, ...(await ground.checker.judge(writeEvidence(runtime, cycle, story)))]
    const { killed, claims, passes, recoveryMs } = story
    return { cycle, killed, claims, passes, recoveryMs, problems }
  } finally {
    await runtime.remove()
  }
}

export function liveThrough(ground: Ground, runtime: CrashWorld, cycle: Cycle): Promise<Story> {
  const stage = new Stage(ground, runtime, cycle)
  if (cycle.mode === 'alone') return alone(stage)
  return cycle.mode === 'asleep' ? asleep(stage) : inPair(stage)
}

/** Puts down where everything is, for the checker. */
export function writeEvidence(runtime: CrashWorld, cycle: Cycle, { said, killed, moments }: Story): string {
  const { home, otherHome, database, providerLog, toolLog } = runtime
  const { ends, budget } = scenarioNamed(cycle.scenario)
  const file = join(runtime.directory, 'evidence.json')
  const told = { at: cycle.at, silences: killed, isLockTold: isLockTold(cycle), said, ends, budget, moments }
  writeFileSync(file, JSON.stringify({ homes: [home, otherHome], database, providerLog, toolLog, ...told }))
  return file
}

/** In a home a lock tells that a process is dead, unless it only sleeps. */
function isLockTold({ database, mode }: Cycle): boolean {
  return database === 'sqlite' && mode !== 'asleep'
}

function leaseOf(cycle: Cycle): number {
  return cycle.leaseSeconds ?? (isLockTold(cycle) ? defaultLease : shortLease)
}

async function alone(stage: Stage): Promise<Story> {
  const [at, ...later] = stage.cycle.at
  const first = await stage.begin('first', { plays: ['first', 'second'] }, at).end
  const ends = [first]
  if (first.wasKilled) await stage.keepMoment()
  for (const next of later) {
    const recovery = await stage.begin('recovery', stage.afterwards(ends), next).end
    if (recovery.wasKilled) await stage.keepMoment()
    ends.push(recovery)
  }
  const started = performance.now()
  const last = await stage.begin('last recovery', stage.afterwards(ends)).end
  return stage.story([...ends, last], {
    passes: { first: first.passes, second: {}, recovery: last.passes },
    recoveryMs: last.quietAt - started,
  })
}

/** The second is at work before the first begins, and hears when the first is done or dead. */
async function inPair(stage: Stage): Promise<Story> {
  const [at] = stage.cycle.at
  const dies = (who: 'first' | 'second') => (stage.cycle.mode === who ? at : undefined)
  const second = stage.begin('second', { plays: ['second'], lingers: true, ...stage.asOther() }, dies('second'))
  await second.says('ready')
  const first = stage.begin('first', { plays: ['first'] }, dies('first'))
  const [firstEnd] = await Promise.all([first.end, tellWhenOver(first, second)])
  const secondEnd = await second.end
  const [dead, survivor] = firstEnd.wasKilled ? [firstEnd, secondEnd] : [secondEnd, firstEnd]
  return stage.story([firstEnd, secondEnd], {
    passes: { first: firstEnd.passes, second: secondEnd.passes, recovery: {} },
    recoveryMs: dead.wasKilled ? Math.max(0, survivor.quietAt - dead.endedAt) : 0,
  })
}

async function tellWhenOver(first: Life, second: Life): Promise<void> {
  await first.end
  if (second.child.connected) second.child.send('the first is done')
}

/** A place that is no crash point: the provider has been asked, and the reply is still to come. */
export const whileAsking = 'while the provider answers'

/** A place that is no crash point: the first does not sleep, it cannot turn. */
export const whileStalling = 'while the event loop stands still'

async function asleep(stage: Stage): Promise<Story> {
  const [at = ''] = stage.cycle.at
  const isPoint = at.includes('#')
  const stallUntil = join(stage.runtime.directory, 'go-on')
  const where = isPoint ? { stopAt: at } : { stallUntil }
  const first = stage.begin('first', { plays: ['first', 'second'], ...where })
  if (at === whileAsking) {
    await stage.runtime.provider.until(({ kind }) => kind === 'received')
    await stopBetweenWrites(first, stage)
  } else await first.says(isPoint ? 'stopping' : 'stalling')
  const isSilent = first.child.exitCode === null && first.child.signalCode === null
  const started = performance.now()
  const second = await stage.begin('second', { ...stage.asOther(), plays: ['again'] }).end
  await stage.keepMoment()
  writeFileSync(stallUntil, '')
  first.child.kill('SIGCONT')
  const firstEnd = await first.end
  return stage.story([{ ...firstEnd, troubles: [] }, second], {
    passes: { first: firstEnd.passes, second: second.passes, recovery: {} },
    recoveryMs: second.quietAt - started,
    killed: isSilent ? 1 : 0,
  })
}

async function stopBetweenWrites({ child }: Life, { cycle, runtime }: Stage): Promise<void> {
  await untilSo(() => {
    child.kill('SIGSTOP')
    const isBetween = cycle.database !== 'sqlite' || !isWriteLocked(runtime.home)
    if (!isBetween) child.kill('SIGCONT')
    return isBetween
  })
}

/** Where a cycle is played: knows what every process needs to know. */
class Stage {
  readonly ground: Ground
  readonly runtime: CrashWorld
  readonly cycle: Cycle
  readonly #moments: string[] = []

  constructor(ground: Ground, runtime: CrashWorld, cycle: Cycle) {
    this.ground = ground
    this.runtime = runtime
    this.cycle = cycle
  }

  begin(name: string, how: Partial<Act>, crashAt?: string): Life {
    const { home, database, provider, providerLog, toolLog } = this.runtime
    const { scenario } = this.cycle
    const usual: Act = {
      ...{ name, scenario, plays: [], heard: [], isBound: false, lingers: false, leaseSeconds: leaseOf(this.cycle) },
      ...{ home, database, providerUrl: provider.url, providerLog, toolLog },
    }
    return beginLife(this.ground.program, { ...usual, ...how }, crashAt)
  }

  /** The people at a process that died repeat what they asked it for. */
  afterwards(before: LifeEnd[]): Partial<Act> {
    return { plays: ['again'], heard: before.flatMap(({ said }) => said) }
  }

  /** A home has one process that works for everything; on a server the other has a home of its own. */
  asOther(): Partial<Act> {
    return this.cycle.database === 'sqlite' ? { isBound: true } : { home: this.runtime.otherHome }
  }

  async keepMoment(): Promise<void> {
    const { home, database, providerLog, toolLog, directory } = this.runtime
    const file = join(directory, `moment-${this.#moments.length + 1}.json`)
    const isAsleep = this.cycle.mode === 'asleep'
    await this.ground.checker.keep({ homes: [home], database, providerLog, toolLog, isAsleep }, file)
    this.#moments.push(file)
  }

  story(ends: LifeEnd[], told: Pick<Story, 'passes' | 'recoveryMs'> & Partial<Pick<Story, 'killed'>>): Story {
    return {
      killed: ends.filter(({ wasKilled }) => wasKilled).length,
      ...told,
      claims: Math.max(0, ...this.runtime.provider.log.map(({ run }) => Number(run?.split('/')[1]))),
      said: ends.flatMap(({ said }) => said),
      problems: ends.flatMap(({ troubles, problems }) => [...troubles, ...problems]),
      moments: this.#moments,
    }
  }
}
