import type { Millis } from './clock.ts'
import type { Usage } from './turn.ts'

const day: Millis = 86_400_000

/** Budgets and reports count UTC days. */
export function startOfDay(now: Millis): Millis {
  return Math.floor(now / day) * day
}

export function nextDay(now: Millis): Millis {
  return startOfDay(now) + day
}

/** Commands that call a model outside of any run. */
export const trialKinds = ['models test', 'models add', 'doctor'] as const
export type TrialKind = (typeof trialKinds)[number]

/** Stands for a run id in the records of such a command's calls. */
export function trialRunId(kind: TrialKind, id: string): string {
  return `${kind}:${id}`
}

/**
 * How a call's cost is known. Reserved: set aside before the call. Spent: reported by the provider. Estimated: not
 * reported; computed from the text sent and received. Lost: the process died during the call; the max it can have cost.
 * Free: it failed before the provider did any work. The reservation of a call that is not made is released.
 */
const costStates = ['reserved', 'spent', 'estimated', 'lost', 'free'] as const
export type CostState = (typeof costStates)[number]

/** Cost of calls, split by how it is known. The figures of a `Usage` are those spent. */
export interface Spending extends Required<Omit<Usage, 'cacheWriteTokens' | 'isEstimate' | 'isPriceAssumed'>> {
  /** The part of `estimatedUsd` with reported tokens but an assumed price. */
  assumedUsd: number
  reservedTokens: number
  reservedUsd: number
  /** Finished calls, including failed ones. */
  calls: number
}

/** Sum of the calls in one state. */
export interface CallSum {
  state: CostState
  calls: number
  input: number
  output: number
  cached: number
  cost: number
  /** The part of the cost that was computed with an assumed price. */
  assumed: number
}

/** The sum of one call that has ended. */
export function callSum(usage: Usage): CallSum {
  const { inputTokens: input, outputTokens: output, cachedTokens: cached, costUsd: cost } = usage
  const state = usage.isEstimate ? 'estimated' : 'spent'
  return { ...{ state, calls: 1, input, output, cached, cost }, assumed: usage.isPriceAssumed ? cost : 0 }
}

/** Converts sums per state to one spending record. */
export function spendingOf(sums: readonly CallSum[]): Spending {
  const of = (state: CostState, figure: Exclude<keyof CallSum, 'state'>) =>
    sums.reduce((total, sum) => (sum.state === state ? total + Number(sum[figure]) : total), 0)
  return {
    inputTokens: of('spent', 'input'),
    outputTokens: of('spent', 'output'),
    cachedTokens: of('spent', 'cached'),
    costUsd: of('spent', 'cost') - of('spent', 'assumed'),
    calls: sums.reduce((total, { state, calls }) => (state === 'reserved' ? total : total + Number(calls)), 0),
    estimatedInputTokens: of('estimated', 'input'),
    estimatedOutputTokens: of('estimated', 'output'),
    estimatedUsd: of('estimated', 'cost') + of('spent', 'assumed'),
    assumedUsd: of('spent', 'assumed'),
    lostInputTokens: of('lost', 'input'),
    lostOutputTokens: of('lost', 'output'),
    lostUsd: of('lost', 'cost'),
    reservedTokens: of('reserved', 'input') + of('reserved', 'output'),
    reservedUsd: of('reserved', 'cost'),
  }
}
