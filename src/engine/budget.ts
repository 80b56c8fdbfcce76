import { HeddleError } from '../domain/errors.ts'
import type { Run } from '../domain/run.ts'
import type { Usage } from '../domain/turn.ts'
import { drawnBy } from '../store/request-totals.ts'
import { lockRun, tryLockRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import {
  type Call,
  drawnSince,
  freeUsage,
  holdDayLock,
  releaseUsage,
  reserveUsage,
  settleUsage,
} from '../store/usage.ts'
import type { AskedCall } from './asked-call.ts'
import type { Engine } from './world.ts'

const day = 86_400_000

/**
 * Locks the pool that a run draws from: its request's root. Before the run itself: whoever ends a parent locks the
 * parent first and its children after it.
 */
export async function holdPool(tx: Tx, { id, rootRunId }: Pick<Run, 'id' | 'rootRunId'>): Promise<void> {
  if (rootRunId !== id) await lockRun(tx, rootRunId)
}

/** The same where waiting would hold up everybody: tells whether the pool is locked now. */
export async function tryHoldPool(tx: Tx, { id, rootRunId }: Pick<Run, 'id' | 'rootRunId'>): Promise<boolean> {
  return rootRunId === id || tryLockRun(tx, rootRunId)
}

/**
 * Sets aside what a call may cost, or says why not. One pool for the whole request: `holdPool` came before, so that
 * calls made side by side cannot both take the last of it. A crash leaves what was set aside counted.
 */
export async function reserve(
  tx: Tx,
  { limits, clock }: Pick<Engine, 'limits' | 'clock'>,
  call: Call,
  most: Usage,
): Promise<HeddleError | undefined> {
  const { perRequest, perDayUsd } = limits
  const request = await drawnBy(tx, call.rootRunId)
  const tokens = request.tokens + most.inputTokens + most.outputTokens
  if (tokens > perRequest.tokens) return spent('tokens', perRequest.tokens, 'perRequest.tokens')
  if (request.costUsd + most.costUsd > perRequest.usd) return spent('USD', perRequest.usd, 'perRequest.usd')
  if (most.costUsd > 0) {
    await holdDayLock(tx)
    const today = await drawnSince(tx, Math.floor(clock.now() / day) * day)
    if (today + most.costUsd > perDayUsd) return spent('USD today', perDayUsd, 'perDay.usd')
  }
  await reserveUsage(tx, call, most, clock.now())
  return undefined
}

/**
 * Ends the books of a run that ends or pauses here: a call that was under way has cost what was sent and seen, and what was
 * set aside for one that is not made is released.
 */
export async function closeCalls(
  tx: Tx,
  { claimed, asked }: { claimed: { run: Pick<Run, 'id'> }; asked: AskedCall | undefined },
): Promise<void> {
  const runId = claimed.run.id
  const cost = asked?.cost
  if (asked && cost) await settleUsage(tx, { runId, call: asked.call, model: asked.model.name }, cost)
  else if (asked) await freeUsage(tx, { runId, call: asked.call })
  await releaseUsage(tx, runId)
}

function spent(of: string, limit: number, key: string): HeddleError {
  return new HeddleError(
    'budget_spent',
    `the next call could exceed the budget of ${limit} ${of}`,
    `raise it: heddle config set budgets.${key} NUMBER; then try again`,
  )
}
