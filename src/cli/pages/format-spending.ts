import { shortLabel } from '../../domain/session.ts'
import type { Spending } from '../../domain/spending.ts'
import { groupDigits } from '../../domain/text/group-digits.ts'
import type { Usage } from '../../domain/turn.ts'

type Money = Pick<Usage, 'costUsd' | 'estimatedUsd' | 'lostUsd'>

/** Tokens in and out, reported and estimated; `~` marks a figure that is partly estimated. */
export function formatTokenCounts(usage: Usage): string {
  const { inputTokens, outputTokens, estimatedInputTokens = 0, estimatedOutputTokens = 0 } = usage
  return `${about(inputTokens, estimatedInputTokens)} in, ${about(outputTokens, estimatedOutputTokens)} out`
}

/** Cost, reported and estimated, plus what may be lost. */
export function formatMoney(spent: Money): string {
  return spentWords(spent) + formatLost(spent)
}

function spentWords({ costUsd, estimatedUsd = 0 }: Money): string {
  return `${estimatedUsd > 0 ? '~' : ''}${formatUsd(costUsd + estimatedUsd)}`
}

/** Max cost of calls whose process died; empty if there are none. */
export function formatLost({ lostUsd = 0 }: Money): string {
  return lostUsd > 0 ? ` + at most ~${formatUsd(lostUsd)} lost` : ''
}

/** Cells of one row of `usage`. */
export function spendingRow({ key, ...spent }: Spending & { key: string }): string[] {
  const { inputTokens, outputTokens, estimatedInputTokens, estimatedOutputTokens, calls, costUsd, estimatedUsd } = spent
  const usd = `${estimatedUsd > 0 ? '~' : ''}$${(costUsd + estimatedUsd).toFixed(4)}`
  return [
    shortLabel(key),
    `${about(inputTokens, estimatedInputTokens)} in`,
    `${about(outputTokens, estimatedOutputTokens)} out`,
    calls === 1 ? '1 call' : `${formatInteger(calls)} calls`,
    usd + formatLost(spent),
  ]
}

/** Notes below `usage`: what is estimated, lost, and reserved. */
export function spendingNotes(total: Spending): string[] {
  const { estimatedInputTokens, estimatedOutputTokens, lostInputTokens, lostOutputTokens } = total
  const estimated = estimatedInputTokens + estimatedOutputTokens
  const unreported = total.estimatedUsd - total.assumedUsd
  const lost = lostInputTokens + lostOutputTokens
  return [
    ...(estimated > 0
      ? [
          `~ about ${formatUsd(unreported)} of it is estimated: the provider did not report the cost of ${formatInteger(estimated)} tokens`,
        ]
      : []),
    ...(total.assumedUsd > 0
      ? [
          `~ about ${formatUsd(total.assumedUsd)} of it is estimated: the price of a model is assumed, set it in heddle.yaml`,
        ]
      : []),
    ...(lost > 0
      ? [`at most ~${formatUsd(total.lostUsd)} was lost, ${formatInteger(lost)} tokens: a process died during a call`]
      : []),
    ...(total.reservedTokens > 0
      ? [
          `${formatUsd(total.reservedUsd)}, ${formatInteger(total.reservedTokens)} tokens, are reserved for running calls`,
        ]
      : []),
  ]
}

/** Dollars with cents, and four digits below one cent. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`
}

export function formatInteger(count: number): string {
  return groupDigits(count)
}

function about(reported: number, estimated: number): string {
  return `${mark(estimated)}${formatInteger(reported + estimated)}`
}

function mark(estimated: number): string {
  return estimated > 0 ? '~' : ''
}
