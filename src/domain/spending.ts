import type { Millis } from './clock.ts'
import type { Usage } from './turn.ts'

const day: Millis = 86_400_000

/** Days are those of UTC, for budgets and for what is told of them. */
export function startOfDay(now: Millis): Millis {
  return Math.floor(now / day) * day
}

export function nextDay(now: Millis): Millis {
  return startOfDay(now) + day
}

/**
 * What is known of a call's cost. Reserved: set aside before it is made. Spent: what the provider told. Estimated: nobody
 * told it; computed from what was sent and seen. Lost: the process died during the call; the most that it can have cost.
 * Free: it failed before the provider did anything for it. What was set aside for a call that is not made is released.
 */
export const costStates = ['reserved', 'spent', 'estimated', 'lost', 'free'] as const
export type CostState = (typeof costStates)[number]

/** What calls have cost, each figure under the word for how it is known. The figures of a `Usage` are what was spent. */
export interface Spending extends Required<Omit<Usage, 'cacheWriteTokens' | 'isEstimate'>> {
  reservedTokens: number
  reservedUsd: number
  /** Those that were made, failed ones included; not those under way. */
  calls: number
}

/** The calls of one state, added up. */
export interface CallSum {
  state: CostState
  calls: number
  input: number
  output: number
  cached: number
  cost: number
}

/** Puts sums of calls under the words for their states. */
export function spendingOf(sums: readonly CallSum[]): Spending {
  const of = (state: CostState, figure: 'calls' | 'input' | 'output' | 'cached' | 'cost') =>
    sums.reduce((total, sum) => (sum.state === state ? total + Number(sum[figure]) : total), 0)
  return {
    inputTokens: of('spent', 'input'),
    outputTokens: of('spent', 'output'),
    cachedTokens: of('spent', 'cached'),
    costUsd: of('spent', 'cost'),
    calls: sums.reduce((total, { state, calls }) => (state === 'reserved' ? total : total + Number(calls)), 0),
    estimatedInputTokens: of('estimated', 'input'),
    estimatedOutputTokens: of('estimated', 'output'),
    estimatedUsd: of('estimated', 'cost'),
    lostInputTokens: of('lost', 'input'),
    lostOutputTokens: of('lost', 'output'),
    lostUsd: of('lost', 'cost'),
    reservedTokens: of('reserved', 'input') + of('reserved', 'output'),
    reservedUsd: of('reserved', 'cost'),
  }
}
