import type { Spending } from '../domain/spending.ts'
import type { Usage } from '../domain/turn.ts'

type Money = Pick<Usage, 'costUsd' | 'estimatedUsd' | 'lostUsd'>

/** Tokens in and out: what was told and what was estimated; `~` marks a figure that is not all told. */
export function tokenWords(usage: Usage): string {
  const { inputTokens, outputTokens, estimatedInputTokens = 0, estimatedOutputTokens = 0 } = usage
  return `${about(inputTokens, estimatedInputTokens)} in, ${about(outputTokens, estimatedOutputTokens)} out`
}

/** Money likewise, and what may be lost besides. */
export function moneyWords(spent: Money): string {
  return spentWords(spent) + lostWords(spent)
}

export function spentWords({ costUsd, estimatedUsd = 0 }: Money): string {
  return `${estimatedUsd > 0 ? '~' : ''}${money(costUsd + estimatedUsd)}`
}

/** What a process that died may have spent; nothing where none did. */
export function lostWords({ lostUsd = 0 }: Money): string {
  return lostUsd > 0 ? ` + at most ~${money(lostUsd)} lost` : ''
}

/** One row of `usage`. */
export function spendingRow({ key, ...spent }: Spending & { key: string }): string[] {
  const { inputTokens, outputTokens, estimatedInputTokens, estimatedOutputTokens, calls, costUsd, estimatedUsd } = spent
  const usd = `${estimatedUsd > 0 ? '~' : ''}$${(costUsd + estimatedUsd).toFixed(4)}`
  return [
    key,
    `${mark(estimatedInputTokens)}${inputTokens + estimatedInputTokens} in`,
    `${mark(estimatedOutputTokens)}${outputTokens + estimatedOutputTokens} out`,
    calls === 1 ? '1 call' : `${calls} calls`,
    usd,
  ]
}

/** What the rows of `usage` do not hold: what is estimated in them, lost, and set aside. */
export function spendingNotes(total: Spending): string[] {
  const { estimatedInputTokens, estimatedOutputTokens, lostInputTokens, lostOutputTokens } = total
  const estimated = estimatedInputTokens + estimatedOutputTokens
  const lost = lostInputTokens + lostOutputTokens
  return [
    ...(estimated > 0
      ? [
          `~ about ${money(total.estimatedUsd)} of it is estimated: no provider told what ${whole(estimated)} tokens cost`,
        ]
      : []),
    ...(lost > 0
      ? [
          `at most ~${money(total.lostUsd)} was lost, ${whole(lost)} tokens: a process died during a call and nobody saw its end`,
        ]
      : []),
    ...(total.reservedTokens > 0
      ? [`${money(total.reservedUsd)}, ${whole(total.reservedTokens)} tokens, are set aside for calls under way`]
      : []),
  ]
}

/** Cents, and more digits where there are only some. */
export function money(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`
}

export function whole(count: number): string {
  return count.toLocaleString('en-US')
}

function about(told: number, estimated: number): string {
  return `${mark(estimated)}${whole(told + estimated)}`
}

function mark(estimated: number): string {
  return estimated > 0 ? '~' : ''
}
