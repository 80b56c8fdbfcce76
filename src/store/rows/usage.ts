import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import { type CallSum, type CostState, type Spending, spendingOf } from '../../domain/spending.ts'
import type { Usage } from '../../domain/turn.ts'
import type { Builder } from '../dialect.ts'
import { raw } from '../raw.ts'
import { statement, statementOfRows } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { OwnedBy } from './access/own-sessions.ts'
import type { RequestSpending } from './request-totals.ts'

export interface ModelCall {
  runId: string
  call: number
  rootRunId: string
  model: string
  /** Text form of the principal who is charged. */
  principal: string
}

/** Takes the day budget lock. Nothing may be locked after this. */
export async function takeDayLock(tx: Tx): Promise<void> {
  if (!tx.dialect.hasOneWriter) await tx.all(dayLock({}))
}

/** Reserves the max cost of a call before it is made. */
export async function reserveUsage(tx: Tx, call: ModelCall, max: Usage, at: Millis): Promise<void> {
  for (const query of reserves([reservationOf(call, max, at)])) tx.send(query)
}

/** The same at the end of the transaction, which reads no usage before that. */
export function reserveUsageLast(tx: Tx, call: ModelCall, max: Usage, at: Millis): void {
  tx.sendLast(reserves, [reservationOf(call, max, at)])
}

interface Reservation extends ModelCall {
  input: number
  output: number
  cost: number
  at: number
}

function reservationOf({ runId, call, rootRunId, model, principal }: ModelCall, max: Usage, at: Millis): Reservation {
  const { inputTokens: input, outputTokens: output, costUsd: cost } = max
  return { runId, call, rootRunId, model, principal, input, output, cost, at }
}

/** Records an ended call that had no reservation. */
export async function recordUsage(tx: Tx, call: ModelCall, usage: Usage, at: Millis): Promise<void> {
  await reserveUsage(tx, call, usage, at)
  await settleUsage(tx, call, usage)
}

/** Replaces the reservation by the actual cost, reported by the provider or estimated here. */
export async function settleUsage(
  tx: Tx,
  call: Pick<ModelCall, 'runId' | 'call' | 'model'>,
  usage: Usage,
): Promise<void> {
  tx.send(
    settleCall({
      runId: call.runId,
      call: call.call,
      model: call.model,
      state: usage.isEstimate ? 'estimated' : 'spent',
      input: usage.inputTokens,
      output: usage.outputTokens,
      cached: usage.cachedTokens,
      cost: usage.costUsd,
      assumed: usage.isPriceAssumed ? 1 : 0,
    }),
  )
}

/**
 * Marks the reservations of a dead process as lost: their cost is unknown, so the reserved max stands. Returns whether
 * there was one.
 */
export async function markUsageLost(tx: Tx, runId: string): Promise<boolean> {
  return (await tx.run(lose({ runId }))) > 0
}

/** Marks a call as free: it did not reach the provider, or was refused. */
export async function markUsageFree(tx: Tx, call: Pick<ModelCall, 'runId' | 'call'>): Promise<void> {
  tx.send(free({ runId: call.runId, call: call.call }))
}

/** Releases the reservations of a run's calls that were never made. */
export async function releaseUsage(tx: Tx, runId: string): Promise<void> {
  tx.send(release({ runId }))
}

/** Spending of a request, or of one run. */
export async function spendingBy(rows: Reading, of: { rootRunId: string } | { runId: string }): Promise<Spending> {
  return spendingOf(await rows.all('rootRunId' in of ? byRequest(of) : byRun(of)))
}

/** Spending of all calls since a time, or of a principal's. */
export async function spentSince(rows: Reading, since: Millis, { principal }: OwnedBy = {}): Promise<Spending> {
  const calls = callSums(rows.build).where('at', '>=', since)
  return spendingOf(await rows.all(principal === undefined ? calls : calls.where('principal', '=', principal)))
}

/** Cost in USD of all calls since a time, or of a principal's, reserved and estimated ones included. */
export async function costSince(rows: Reading, since: Millis, { principal }: OwnedBy = {}): Promise<number> {
  const query = principal === undefined ? bySince({ since }) : ofPrincipalSince({ since, principal })
  return (await rows.first(query))?.cost ?? 0
}

/** Reservations of open calls: of a request, or of all calls since a time. */
export async function reservedNow(
  rows: Reading,
  of: { rootRunId: string } | (OwnedBy & { since: Millis }),
): Promise<RequestSpending> {
  let openCalls = callSums(rows.build).where('state', '=', 'reserved')
  if ('rootRunId' in of) openCalls = openCalls.where('root_run_id', '=', of.rootRunId)
  else {
    openCalls = openCalls.where('at', '>=', of.since)
    if (of.principal !== undefined) openCalls = openCalls.where('principal', '=', of.principal)
  }
  const [sum] = await rows.all(openCalls)
  const { calls = 0, input = 0, output = 0, cost = 0 } = sum ?? {}
  return { steps: Number(calls), tokens: Number(input) + Number(output), costUsd: cost }
}

/** The calls of a run: their sums, and the number of the last one; 0 if it made none. */
export async function callSumsOfRun(rows: Reading, runId: string): Promise<{ sums: CallSum[]; last: number }> {
  const found = await rows.all(byRunWithLast({ runId }))
  return { sums: found, last: Math.max(0, ...found.map(({ last }) => last)) }
}

const dayLock = statement((db, _arg: object, dialect) => raw<object>(db, dialect.dayLock))

const lose = statement((db, arg: { runId: string }) =>
  db.updateTable('usage').set({ state: 'lost' }).where('run_id', '=', arg.runId).where('state', '=', 'reserved'),
)

const free = statement((db, arg: { runId: string; call: number }) =>
  db
    .updateTable('usage')
    .set({ state: 'free', input_tokens: 0, output_tokens: 0, cost_usd: 0 })
    .where('run_id', '=', arg.runId)
    .where('call', '=', arg.call),
)

const release = statement((db, arg: { runId: string }) =>
  db.deleteFrom('usage').where('run_id', '=', arg.runId).where('state', '=', 'reserved'),
)

/** Sums of calls by how their cost is known. */
export const callSums = (db: Builder) =>
  db
    .selectFrom('usage')
    .groupBy('state')
    .select([
      'state',
      sql<number>`count(*)`.as('calls'),
      sql<number>`coalesce(sum(input_tokens), 0)`.as('input'),
      sql<number>`coalesce(sum(output_tokens), 0)`.as('output'),
      sql<number>`coalesce(sum(cached_tokens), 0)`.as('cached'),
      sql<number>`coalesce(sum(cost_usd), 0)`.as('cost'),
      sql<number>`coalesce(sum(cost_usd * price_assumed), 0)`.as('assumed'),
    ])
const byRequest = statement((db, arg: { rootRunId: string }) => callSums(db).where('root_run_id', '=', arg.rootRunId))
const ofRun = (db: Builder, arg: { runId: string }) => callSums(db).where('run_id', '=', arg.runId)
const byRun = statement(ofRun)
const byRunWithLast = statement((db, arg: { runId: string }) =>
  ofRun(db, arg).select(sql<number>`max(call)`.as('last')),
)
// Covered by an index: it runs before each call that costs money.
const bySince = statement((db, arg: { since: number }) =>
  db.selectFrom('usage').select(sql<number>`coalesce(sum(cost_usd), 0)`.as('cost')).where('at', '>=', arg.since),
)

const ofPrincipalSince = statement((db, arg: { since: number; principal: string }) =>
  db
    .selectFrom('usage')
    .select(sql<number>`coalesce(sum(cost_usd), 0)`.as('cost'))
    .where('principal', '=', arg.principal)
    .where('at', '>=', arg.since),
)

const reserves = statementOfRows((db, rows: Reservation[]) =>
  db.insertInto('usage').values(
    rows.map((arg) => ({
      run_id: arg.runId,
      call: arg.call,
      root_run_id: arg.rootRunId,
      model: arg.model,
      state: 'reserved' as const,
      input_tokens: arg.input,
      output_tokens: arg.output,
      cached_tokens: 0,
      cost_usd: arg.cost,
      at: arg.at,
      principal: arg.principal,
    })),
  ),
)

const settleCall = statement(
  (
    db,
    arg: {
      runId: string
      call: number
      model: string
      state: CostState
      input: number
      output: number
      cached: number
      cost: number
      assumed: number
    },
  ) =>
    db
      .updateTable('usage')
      .set({
        state: arg.state,
        model: arg.model,
        input_tokens: arg.input,
        output_tokens: arg.output,
        cached_tokens: arg.cached,
        cost_usd: arg.cost,
        price_assumed: arg.assumed,
      })
      .where('run_id', '=', arg.runId)
      .where('call', '=', arg.call),
)
