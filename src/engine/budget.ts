import { HeddleError } from '../domain/errors.ts'
import type { Run } from '../domain/run.ts'
import { startOfDay } from '../domain/spending.ts'
import type { Usage } from '../domain/turn.ts'
import { raisedTo } from '../store/budget-questions.ts'
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
): Promise<BudgetSpent | undefined> {
  const { perRequest, maxSteps, perDayUsd } = limits
  const request = await drawnBy(tx, call.rootRunId)
  const tokens = request.tokens + most.inputTokens + most.outputTokens
  const drawn: Draw[] = [
    { key: 'perRequest.steps', limit: maxSteps, needs: request.steps + 1 },
    { key: 'perRequest.tokens', limit: perRequest.tokens, needs: tokens },
    { key: 'perRequest.usd', limit: perRequest.usd, needs: request.costUsd + most.costUsd },
  ]
  const today = startOfDay(clock.now())
  if (most.costUsd > 0) {
    await holdDayLock(tx)
    drawn.push({ key: 'perDay.usd', limit: perDayUsd, needs: (await drawnSince(tx, today)) + most.costUsd })
  }
  for (const draw of drawn) {
    if (draw.needs <= draw.limit) continue
    // Only now it matters whether somebody has raised it.
    const raised = await raisedTo(tx, draw.key, draw.key === 'perDay.usd' ? { today } : call)
    const limit = Math.max(draw.limit, raised)
    if (draw.needs > limit) return new BudgetSpent({ ...draw, limit }, draw.limit)
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
  if (asked && cost) await settleUsage(tx, { runId, call: asked.call, model: asked.answeredBy }, cost)
  else if (asked) await freeUsage(tx, { runId, call: asked.call })
  await releaseUsage(tx, runId)
}

/** The keys of `budgets` in the configuration. */
export type BudgetKey = 'perRequest.steps' | 'perRequest.tokens' | 'perRequest.usd' | 'perDay.usd'

interface Draw {
  key: BudgetKey
  limit: number
  needs: number
}

/** The next call could draw more than a budget has. */
export class BudgetSpent extends HeddleError {
  readonly key: BudgetKey
  readonly limit: number
  /** What the limit is worth raising to: as much again as the owner configured, and at least what the call needs. */
  readonly raise: number

  constructor({ key, limit, needs }: Draw, configured: number) {
    const [code, message] =
      key === 'perRequest.steps'
        ? ['too_many_steps', `the request has made ${limit} model calls, as many as its budget allows`]
        : ['budget_spent', `the next call could exceed the budget of ${amountOf(key, limit)}`]
    super(code, message, `raise it: heddle config set budgets.${key} NUMBER; then try again`)
    this.key = key
    this.limit = limit
    this.raise = Math.max(limit + configured, Math.ceil(needs * 100) / 100)
  }
}

/** An amount of a budget, in words. */
export function amountOf(key: BudgetKey, amount: number): string {
  const usd = `$${amount.toFixed(2)}`
  return {
    'perRequest.steps': `${amount} model calls for this request`,
    'perRequest.tokens': `${amount} tokens for this request`,
    'perRequest.usd': `${usd} for this request`,
    'perDay.usd': `${usd} for today`,
  }[key]
}
