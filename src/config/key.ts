import { inspect } from 'node:util'
import type { HeddleError } from '../domain/errors.ts'
import { redacted, redactWhole } from './redact.ts'

const shortest = 8

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

  /** Whether there is a key to reveal. */
  get isThere(): boolean {
    return this.#value !== undefined
  }

  /** The text without the key, wherever it stands in it. What is shorter than any key would hide half of every text. */
  hide(text: string): string {
    return this.#value && this.#value.length >= shortest ? text.replaceAll(this.#value, redacted) : text
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
