import type { z } from 'zod'
import type { Evidence } from './evidence.ts'

/** What a check found: whether that is what was wanted, and what it was, in words. */
export interface Seen {
  ok: boolean
  saw: string
}

/** One mechanical question about what an agent left behind. */
export interface Check {
  kind: string
  /** What it is about, in its author's words where there are some. */
  says: string
  /** What is expected, mechanically. */
  wants: string
  look(evidence: Evidence): Seen | Promise<Seen>
}

/** A check that was looked at. */
export interface Judged extends Seen {
  check: string
  says: string
  wants: string
}

/** Makes a check out of what a file says of it, or tells what is wrong with that. */
export type CheckReader = (written: unknown) => { check: Pick<Check, 'wants' | 'look'> } | { problem: string }

/** A kind of check: how it is written, what it wants and how it looks. */
export function checkOf<T>(
  schema: z.ZodType<T>,
  wants: (wanted: T) => string,
  look: (wanted: T, evidence: Evidence) => Seen | Promise<Seen>,
): CheckReader {
  return (written) => {
    const read = schema.safeParse(written)
    if (!read.success) return { problem: read.error.issues.map(issueText).join('; ') }
    return { check: { wants: wants(read.data), look: (evidence) => look(read.data, evidence) } }
  }
}

/** A list as people read it, with its end left out when it is long. */
export function named(words: readonly string[], most = 5): string {
  const more = words.length - most
  return more > 0 ? `${words.slice(0, most).join(', ')} and ${more} more` : words.join(', ')
}

function issueText({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
}
