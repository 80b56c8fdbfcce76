import type { Clock, Millis } from '../../src/domain/clock.ts'
import { seededRandom } from '../../src/testing.ts'

/** A number from 0 up to, but not including, this one. */
export type Chance = (below: number) => number

/** The same numbers for the same seed. */
export function seededChance(seed: number): Chance {
  const random = seededRandom(seed)
  return (below) => {
    const [a = 0, b = 0, c = 0] = random.bytes(3)
    return ((a << 16) | (b << 8) | c) % below
  }
}

/** Which of these goes on next, by its place. */
export type Order = (ready: readonly string[]) => number

interface Waiting {
  life: Life
  what: string
  go(): void
}

interface Sleeping extends Waiting {
  until: Millis
}

/** Real work that moves time on by at most this much. */
const maxPerStep: Millis = 30

/**
 * Everything in a simulated world that waits, and the choice of what goes on next. Whoever awaits something that could
 * take a while asks for a turn first, so that nothing but the choice decides in which order things happen.
 */
export class Schedule {
  /** What went on, in order. */
  readonly passed: string[] = []
  readonly start: Millis = Date.UTC(2026, 0, 1)
  readonly #order: Order
  readonly #chance: Chance
  #monotonic: Millis = 0
  #waiting: Waiting[] = []
  #sleeping: Sleeping[] = []
  #underWay = 0

  constructor(order: Order, chance: Chance) {
    this.#order = order
    this.#chance = chance
  }

  get monotonic(): Millis {
    return this.#monotonic
  }

  /** Lets time pass; whoever slept until then waits for a turn. */
  pass(duration: Millis): void {
    this.#monotonic += duration
    const due = this.#sleeping.filter(({ until }) => until <= this.#monotonic)
    this.#sleeping = this.#sleeping.filter(({ until }) => until > this.#monotonic)
    this.#waiting.push(...due.sort((a, b) => a.until - b.until))
  }

  /** Lets one thing go on as far as it can, or time pass until there is one. False when nothing is left to happen. */
  async step(): Promise<boolean> {
    await this.#settled()
    this.pass(this.#chance(maxPerStep + 1))
    const ready = this.#waiting.filter(({ life }) => life.state === 'awake')
    if (ready.length === 0) {
      const next = this.#sleeping.filter(({ life }) => life.state === 'awake').map(({ until }) => until)
      if (next.length === 0) return false
      this.pass(Math.min(...next) - this.#monotonic)
      return true
    }
    const chosen = ready[this.#order(ready.map(({ what }) => what))] as Waiting
    this.#remove(chosen)
    this.passed.push(`${this.#monotonic} ${chosen.life.name} ${chosen.what}`)
    chosen.go()
    await this.#settled()
    return true
  }

  /** Does something that really takes a while; no step ends before it has. */
  async really<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++
    try {
      return await work()
    } finally {
      this.#underWay--
    }
  }

  wait(waiting: Waiting): void {
    if (waiting.life.state !== 'dead') this.#waiting.push(waiting)
  }

  sleep(life: Life, duration: Millis, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      if (life.state === 'dead') return
      const sleeping = { life, what: 'wakes', until: this.#monotonic + duration, go: resolve }
      this.#sleeping.push(sleeping)
      signal?.addEventListener('abort', () => {
        this.#remove(sleeping)
        resolve()
      })
    })
  }

  forget(life: Life): void {
    this.#waiting = this.#waiting.filter((each) => each.life !== life)
    this.#sleeping = this.#sleeping.filter((each) => each.life !== life)
  }

  #remove(gone: Waiting): void {
    this.#waiting = this.#waiting.filter((each) => each !== gone)
    this.#sleeping = this.#sleeping.filter((each) => each !== gone)
  }

  /** Promises that only wait for each other are done before the event loop's next turn. */
  async #settled(): Promise<void> {
    do await new Promise(setImmediate)
    while (this.#underWay > 0)
  }
}

/** A process of the simulated world: it goes on in turns, and when it dies it never goes on again. */
export class Life {
  readonly name: string
  state: 'awake' | 'frozen' | 'dead' = 'awake'
  /** What it asked for last. */
  waitsFor = ''
  readonly clock: Clock
  readonly #schedule: Schedule

  constructor(schedule: Schedule, name: string) {
    this.#schedule = schedule
    this.name = name
    this.clock = {
      now: () => schedule.start + schedule.monotonic,
      monotonic: () => schedule.monotonic,
      sleep: (duration, signal) => schedule.sleep(this, duration, signal),
    }
  }

  turn(what: string): Promise<void> {
    this.waitsFor = what
    return new Promise((go) => this.#schedule.wait({ life: this, what, go }))
  }

  die(): void {
    this.state = 'dead'
    this.#schedule.forget(this)
  }
}
