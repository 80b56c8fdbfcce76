import { inspect } from 'node:util'
import type { HeddleError } from '../domain/errors.ts'
import { redactedMark, redactWhole } from './redact.ts'

const minLength = 8

/** An API key. Printing, logging or storing it shows where it comes from, never its value. */
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

  /** The key's value, for a request; throws an error with a remedy if it is missing. */
  reveal(): string {
    if (this.#value === undefined) throw this.#why
    return this.#value
  }

  /** Whether the key is available. */
  get isThere(): boolean {
    return this.#value !== undefined
  }

  /** Redacts the key in a text. A very short key is not redacted, since it would match everywhere. */
  hide(text: string): string {
    return this.#value && this.#value.length >= minLength ? text.replaceAll(this.#value, redactedMark) : text
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
