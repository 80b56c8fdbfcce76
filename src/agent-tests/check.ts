import type { z } from 'zod'
import type { Evidence } from './evidence.ts'

/** Result of a check: whether it passed, and what it found, in words. */
export interface CheckResult {
  ok: boolean
  saw: string
}

/** One mechanical check of an agent's work. */
export interface Check {
  kind: string
  /** Description by the author of the test, else the expectation. */
  says: string
  /** The expectation, in words. */
  wants: string
  look(evidence: Evidence): CheckResult | Promise<CheckResult>
}

/** A check with its result. */
export interface JudgedCheck extends CheckResult {
  check: string
  says: string
  wants: string
}

/** Parses a check from a file, or reports the problem. */
export type CheckReader = (written: unknown) => { check: Pick<Check, 'wants' | 'look'> } | { problem: string }

/** Defines a kind of check: its schema, its expectation and its test. */
export function checkOf<T>(
  schema: z.ZodType<T>,
  wants: (wanted: T) => string,
  look: (wanted: T, evidence: Evidence) => CheckResult | Promise<CheckResult>,
): CheckReader {
  return (written) => {
    const read = schema.safeParse(written)
    if (!read.success) return { problem: read.error.issues.map(issueText).join('; ') }
    return { check: { wants: wants(read.data), look: (evidence) => look(read.data, evidence) } }
  }
}

/** Joins words to a list, shortened when it is long. */
export function joinWords(words: readonly string[], max = 5): string {
  const more = words.length - max
  return more > 0 ? `${words.slice(0, max).join(', ')} and ${more} more` : words.join(', ')
}

function issueText({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
}
