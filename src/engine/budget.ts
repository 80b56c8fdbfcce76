import { HeddleError } from '../domain/errors.ts'
import type { Usage } from '../domain/turn.ts'
import { lockRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { type Call, reserveUsage, spentBy } from '../store/usage.ts'
import type { Engine } from './world.ts'

const day = 86_400_000

/**
 * Sets aside what a call may cost, or refuses it. One pool for the whole request: its root's row is locked, so that
 * calls made side by side cannot both take the last of it. A crash leaves what was set aside counted.
 */
export async function reserve(tx: Tx, { limits, clock }: Engine, call: Call, most: Usage): Promise<void> {
  tx.locking('runs')
  await lockRun(tx, call.rootRunId)
  const request = await spentBy(tx, { rootRunId: call.rootRunId })
  const tokens = request.inputTokens + request.outputTokens + most.inputTokens + most.outputTokens
  if (tokens > limits.perRequest.tokens) throw spent('tokens', limits.perRequest.tokens, 'perRequest.tokens')
  if (request.costUsd + most.costUsd > limits.perRequest.usd)
    throw spent('USD', limits.perRequest.usd, 'perRequest.usd')
  const today = await spentBy(tx, { since: Math.floor(clock.now() / day) * day })
  if (today.costUsd + most.costUsd > limits.perDayUsd) throw spent('USD today', limits.perDayUsd, 'perDay.usd')
  await reserveUsage(tx, call, most, clock.now())
}

function spent(of: string, limit: number, key: string): HeddleError {
  return new HeddleError(
    'budget_spent',
    `the next call could exceed the budget of ${limit} ${of}`,
    `raise it: heddle config set budgets.${key} NUMBER; then try again`,
  )
}
