import { appendFileSync } from 'node:fs'
import type { Clock, Millis } from '../domain/clock.ts'
import type { TokenCounts } from './provider-wire.ts'

/**
 * Log line of a provider. `answered` is written before the last byte is sent, so that the log is never behind a client;
 * `lost` may follow when the client disconnected before. Every `received` is followed by one or more of the others.
 */
export type ProviderLogLine = {
  /** Number of the request, from 1. */
  n: number
  at: Millis
  /** The header `x-heddle-run`. */
  run: string | null
} /** `body` is the whole request. */ & (
  | { kind: 'received'; model: string; lastUserText: string; body: unknown }
  /** `usage` as sent in the reply. */
  | { kind: 'answered'; usage: TokenCounts | null }
  /** An HTTP status instead of a reply. */
  | { kind: 'refused'; status: number }
  /** The provider cut the reply; `usage` if the client may have received it. */
  | { kind: 'broken'; usage: TokenCounts | null }
  /** The client disconnected. */
  | { kind: 'lost' }
)

type Unstamped<Line> = Line extends unknown ? Omit<Line, 'at'> : never

/** An append-only log, in memory and in a file of JSON lines. */
export class ProviderLog {
  readonly lines: ProviderLogLine[] = []
  readonly #clock: Clock
  readonly #file: string | undefined
  #waiting: { test: (line: ProviderLogLine) => boolean; resolve: (line: ProviderLogLine) => void }[] = []

  constructor(clock: Clock, file: string | undefined) {
    this.#clock = clock
    this.#file = file
  }

  add(line: Unstamped<ProviderLogLine>): void {
    const stamped = { ...line, at: this.#clock.now() } as ProviderLogLine
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(stamped)}\n`)
    this.lines.push(stamped)
    const due = this.#waiting.filter(({ test }) => test(stamped))
    this.#waiting = this.#waiting.filter((waiting) => !due.includes(waiting))
    for (const { resolve } of due) resolve(stamped)
  }

  /** Resolves with the first line that passes the test. */
  until(test: (line: ProviderLogLine) => boolean): Promise<ProviderLogLine> {
    const found = this.lines.find(test)
    if (found) return Promise.resolve(found)
    return new Promise((resolve) => this.#waiting.push({ test, resolve }))
  }
}
