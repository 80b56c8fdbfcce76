import { inspect } from 'node:util'
import type { HeddleError } from '../domain/errors.ts'
import { redactWhole } from './redact.ts'

/** The key of a model. Printing, logging or storing it shows where it comes from, never what it is. */
export class ApiKey {
  /** As written in the file: `${ANTHROPIC_API_KEY}`, or `[redacted]` for a key written out. */
  readonly written: string
  readonly #value: string | undefined
  readonly #why: HeddleError | undefined

  constructor(written: string, value: string | HeddleError) {
    this.written = redactWhole(written)
    this.#value = typeof value === 'string' ? value : undefined
    this.#why = typeof value === 'string' ? undefined : value
  }

  /** The key itself, for the request that needs it; throws what to do when it is not there. */
  reveal(): string {
    if (this.#value === undefined) throw this.#why
    return this.#value
  }

  toString(): string {
    return this.written
  }

  toJSON(): string {
    return this.written
  }

  [inspect.custom](): string {
    return this.written
  }
}
