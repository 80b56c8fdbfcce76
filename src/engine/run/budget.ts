import { ownerText } from '../../domain/access/principal.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Run } from '../../domain/run.ts'
import { startOfDay } from '../../domain/spending.ts'
import type { Usage } from '../../domain/turn.ts'
import { raisedLimit } from '../../store/rows/budget-questions.ts'
import { nothingSpent, type RequestSpending, spendingOfRequest } from '../../store/rows/request-totals.ts'
import { lockRunRow, tryLockRun } from '../../store/rows/runs.ts'
import {
  costSince,
  type ModelCall,
  markUsageFree,
  releaseUsage,
  reservedNow,
  reserveUsage,
  reserveUsageLast,
  settleUsage,
  takeDayLock,
} from '../../store/rows/usage.ts'
import type { Tx } from '../../store/store.ts'
import type { InFlightCall } from '../model/in-flight-call.ts'
import type { Engine } from '../runtime.ts'
import { userOf } from './sender.ts'

/**
 * Locks the budget pool of a run: the root run of its request. Must come before the lock on the run itself, since a
 * transaction that ends a parent locks the parent before its children.
 */
export async function lockPool(tx: Tx, { id, rootRunId }: Pick<Run, 'id' | 'rootRunId'>): Promise<void> {
  if (rootRunId !== id) await lockRunRow(tx, rootRunId)
}

/** Like `lockPool`, but does not wait; returns whether the pool is locked. */
export async function tryLockPool(tx: Tx, { id, rootRunId }: Pick<Run, 'id' | 'rootRunId'>): Promise<boolean> {
  return rootRunId === id || tryLockRun(tx, rootRunId)
}

/**
 * Reserves the maximum cost of a model call from the request's pool. Returns a refusal if the budget is spent, or
 * 'in use' if the rest is reserved by calls under way, most of which will cost less. The caller holds `lockPool`, so
 * that concurrent calls cannot both take the rest. A reservation survives a crash and stays counted.
 */
export async function reserve(
  tx: Tx,
  { limits, clock }: Pick<Engine, 'limits' | 'clock'>,
  call: PoolCall,
  maxCost: Usage,
): Promise<BudgetSpent | 'in use' | undefined> {
  const today = startOfDay(clock.now())
  const draws = await drawsOf(tx, { limits, today }, call, maxCost)
  for (const draw of draws) {
    if (draw.needs <= draw.limit) continue
    // Only here it matters whether the user raised the limit.
    const raised = await raisedLimit(tx, draw.key, draw.key === 'perDay.usd' ? { today } : call)
    const limit = Math.max(draw.limit, raised)
    if (draw.needs <= limit) continue
    const inUse = await reservedNow(tx, poolOf(draw, call, today))
    // Read once more after that: a call that has ended since the first look costs less than it had reserved.
    const { before: _, ...uncached } = call
    const again = (await drawsOf(tx, { limits, today }, uncached, maxCost)).find(({ key }) => key === draw.key) ?? draw
    return again.needs - inUse[draw.unit] <= limit ? 'in use' : new BudgetSpent({ ...draw, limit }, draw.limit)
  }
  if (!call.before) await reserveUsage(tx, call, maxCost, clock.now())
  else {
    addReservation(call.before, maxCost)
    reserveUsageLast(tx, call, maxCost, clock.now())
  }
  return undefined
}

/** A call that draws from the pool of its request. */
interface PoolCall extends ModelCall {
  /** Whether no call of the request can have been made. */
  isFirst?: boolean
  /** For one of several calls that are reserved in one transaction. */
  before?: SpentBefore
}

/** What was spent and reserved before a call; read for the first of several, and carried to the others. */
export interface SpentBefore {
  request?: RequestSpending
  today?: number
  userToday?: number
}

function addReservation(before: SpentBefore, { inputTokens, outputTokens, costUsd }: Usage): void {
  const { tokens, costUsd: usd, steps } = before.request ?? nothingSpent
  before.request = { tokens: tokens + inputTokens + outputTokens, costUsd: usd + costUsd, steps: steps + 1 }
  if (before.today !== undefined) before.today += costUsd
  if (before.userToday !== undefined) before.userToday += costUsd
}

/** What a call needs of each budget, with what was spent and reserved before it. */
async function drawsOf(
  tx: Tx,
  { limits: { perRequest, maxSteps, perDayUsd }, today }: Pick<Engine, 'limits'> & { today: Millis },
  call: PoolCall,
  maxCost: Usage,
): Promise<Draw[]> {
  const before = call.before ?? {}
  before.request ??= call.isFirst ? nothingSpent : await spendingOfRequest(tx, call.rootRunId)
  const { request } = before
  const tokens = request.tokens + maxCost.inputTokens + maxCost.outputTokens
  const draws: Draw[] = [
    { key: 'perRequest.steps', unit: 'steps', limit: maxSteps, needs: request.steps + 1 },
    { key: 'perRequest.tokens', unit: 'tokens', limit: perRequest.tokens, needs: tokens },
    { key: 'perRequest.usd', unit: 'costUsd', limit: perRequest.usd, needs: request.costUsd + maxCost.costUsd },
  ]
  if (maxCost.costUsd > 0) {
    if (before.today === undefined) await takeDayLock(tx)
    before.today ??= await costSince(tx, today)
    draws.push({ key: 'perDay.usd', unit: 'costUsd', limit: perDayUsd, needs: before.today + maxCost.costUsd })
    draws.push(...(await drawOfUser(tx, { ...call, before }, today, maxCost)))
  }
  return draws
}

/** The draw from a user's budget of the day, if the owner set one. */
async function drawOfUser(
  tx: Tx,
  { principal, before = {} }: Pick<PoolCall, 'principal' | 'before'>,
  today: Millis,
  maxCost: Usage,
): Promise<Draw[]> {
  const user = principal === ownerText ? undefined : await userOf(tx, principal)
  if (!user || user.perDayUsd === null) return []
  before.userToday ??= await costSince(tx, today, { principal })
  const needs = before.userToday + maxCost.costUsd
  return [{ key: 'perUserDay.usd', unit: 'costUsd', limit: user.perDayUsd, needs, user: user.id }]
}

/** The calls that draw from the same budget. */
function poolOf({ key }: Draw, { rootRunId, principal }: ModelCall, today: Millis): Parameters<typeof reservedNow>[1] {
  if (key === 'perUserDay.usd') return { since: today, principal }
  return key === 'perDay.usd' ? { since: today } : { rootRunId }
}

/**
 * Closes the accounts of a run that ends or parks here: an interrupted call is charged for what was sent and received,
 * and the reservation of a call that was not made is released.
 */
export async function closeCalls(
  tx: Tx,
  {
    claimed,
    modelCall,
    mayHaveReserved,
  }: { claimed: { run: Pick<Run, 'id'> }; modelCall: InFlightCall | undefined; mayHaveReserved: boolean },
): Promise<void> {
  const runId = claimed.run.id
  const cost = modelCall?.cost
  if (modelCall && cost) await settleUsage(tx, { runId, call: modelCall.call, model: modelCall.answeredBy }, cost)
  else if (modelCall) await markUsageFree(tx, { runId, call: modelCall.call })
  if (mayHaveReserved) await releaseUsage(tx, runId)
}

/** The keys of `budgets` in the configuration, and the budget that the owner gave a user for each day. */
type BudgetKey = 'perRequest.steps' | 'perRequest.tokens' | 'perRequest.usd' | 'perDay.usd' | 'perUserDay.usd'

interface Draw {
  key: BudgetKey
  unit: keyof RequestSpending
  limit: number
  needs: number
  /** The user whose budget it is. */
  user?: string
}

/** The next call could draw more than a budget has. */
export class BudgetSpent extends HeddleError {
  readonly key: BudgetKey
  readonly limit: number
  /** Proposed new limit: the configured amount on top, and at least what the call needs. */
  readonly raise: number

  constructor({ key, limit, needs, user }: Omit<Draw, 'unit'>, configured: number) {
    const [code, message] =
      key === 'perRequest.steps'
        ? ['too_many_steps', `the request has made ${limit} model calls, as many as its budget allows`]
        : ['budget_spent', `the next call could exceed the budget of ${amountOf(key, limit)}`]
    const raise =
      user === undefined
        ? `heddle config set budgets.${key} NUMBER; then try again`
        : `heddle users set ${user} --per-day-usd NUMBER; or try again tomorrow (UTC)`
    super(code, message, `raise it: ${raise}`)
    this.key = key
    this.limit = limit
    this.raise = Math.max(limit + configured, Math.ceil(needs * 100) / 100)
  }
}

/** Formats an amount of a budget. */
export function amountOf(key: BudgetKey, amount: number): string {
  const usd = `$${amount.toFixed(2)}`
  return {
    'perRequest.steps': `${amount} model calls for this request`,
    'perRequest.tokens': `${amount} tokens for this request`,
    'perRequest.usd': `${usd} for this request`,
    'perDay.usd': `${usd} for today`,
    'perUserDay.usd': `${usd} for today that this user has`,
  }[key]
}
