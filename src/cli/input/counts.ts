import { UsageError } from '../../domain/errors.ts'
import { printable } from '../terminal/screen.ts'

/** Max delay of a timer; a longer one would fire immediately. */
const maxSeconds = 2_147_483

/** Parses a whole number. Digits only: JavaScript would also accept '', ' ', 1e3 and 0x10. */
export function wholeNumber(
  value: unknown,
  { what, min = 1, max = Number.MAX_SAFE_INTEGER, remedy }: WholeNumber,
): number {
  const text = String(value)
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw new UsageError(`"${printable(text)}" is not a ${what}`, remedy ?? `use a whole number from ${min}`)
}

interface WholeNumber {
  /** Name of the value, as in "number of turns". */
  what: string
  min?: number
  max?: number
  remedy?: string
}

/** Parses a timeout in seconds, with decimals. */
export function secondsFrom(value: unknown): number {
  const text = String(value)
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (seconds > 0 && seconds <= maxSeconds) return seconds
  throw new UsageError(`"${printable(text)}" is not a number of seconds`, `use a number above 0, at most ${maxSeconds}`)
}
