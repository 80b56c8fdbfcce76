import type { Arena } from './arena.ts'
import type { Call, Result } from './call.ts'
import type { ArenaKind } from './ground.ts'

/** What a try is given: a name for its canaries and files that no other try has, and a choice that a seed repeats. */
export interface TryContext {
  token: string
  /** A number from 0 to `below`, without it. */
  pick(below: number): number
}

/**
 * One attack. `calls` is what a model that obeys the attacker calls, round by round. `act` is for what takes more than
 * one request; it returns what escaped. Watched files, secrets and canaries are checked after either.
 */
export interface Try {
  name: string
  arena: ArenaKind
  calls?(arena: Arena, context: TryContext): Call[][]
  /** What the results show that no watched file does. */
  judge?(results: Result[], arena: Arena): string | undefined
  act?(arena: Arena, context: TryContext): Promise<string | undefined>
  /** Whether tries like it can share a request: only those that change nothing when they are stopped. */
  isShared?: boolean
  /** Whether the owner works with git afterwards, so that what was planted would run. */
  ownerUsesGit?: boolean
}

/** A kind of attack: what is tried, what shows that an escape would be seen, and what must go on working. */
export interface AttackClass {
  name: string
  about: string
  tries: Try[]
  /** Each breaks something by hand, outside of the sandbox: the checks must see it. */
  controls: Try[]
  /** Ordinary work; `act` returns what hindered it. */
  work: Try[]
}
