import { sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import { type CallSum, type CostState, type Spending, spendingOf } from '../domain/spending.ts'
import type { Usage } from '../domain/turn.ts'
import type { Builder } from './dialect.ts'
import { raw } from './raw.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

export interface Call {
  runId: string
  call: number
  rootRunId: string
  model: string
}

/** Only one transaction at a time takes from the day's budget. Nothing may be locked after this. */
export async function holdDayLock(tx: Tx): Promise<void> {
  await tx.all(dayLock({}))
}

/** Sets aside what a call may cost, before it is made. */
export async function reserveUsage(tx: Tx, call: Call, most: Usage, at: Millis): Promise<void> {
  await tx.run(
    reserve({
      runId: call.runId,
      call: call.call,
      rootRunId: call.rootRunId,
      model: call.model,
      input: most.inputTokens,
      output: most.outputTokens,
      cost: most.costUsd,
      at,
    }),
  )
}

/** Replaces the reservation by what the call did cost, as the provider told it or as it was estimated here. */
export async function settleUsage(tx: Tx, call: Pick<Call, 'runId' | 'call' | 'model'>, usage: Usage): Promise<void> {
  await tx.run(
    settle({
      runId: call.runId,
      call: call.call,
      model: call.model,
      state: usage.isEstimate ? 'estimated' : 'spent',
      input: usage.inputTokens,
      output: usage.outputTokens,
      cached: usage.cachedTokens,
      cost: usage.costUsd,
    }),
  )
}

/** Reservations of calls whose process died: nobody will ever know what they cost, so the most they can have cost stands. */
export async function loseUsage(tx: Tx, runId: string): Promise<void> {
  await tx.run(lose({ runId }))
}

/** Notes that a call brought no reply and cost nothing: it did not reach the provider, or was refused. */
export async function freeUsage(tx: Tx, call: Pick<Call, 'runId' | 'call'>): Promise<void> {
  await tx.run(free({ runId: call.runId, call: call.call }))
}

/** Gives back what was set aside for calls of a run that were never made. */
export async function releaseUsage(tx: Tx, runId: string): Promise<void> {
  await tx.run(release({ runId }))
}

/** What calls have cost: all of a request, or those of one run. */
export async function spentBy(rows: Reading, of: { rootRunId: string } | { runId: string }): Promise<Spending> {
  return spendingOf(await rows.all('rootRunId' in of ? byRequest(of) : byRun(of)))
}

/** What all calls since then have cost. */
export async function spentSince(rows: Reading, since: Millis): Promise<Spending> {
  return spendingOf(await rows.all(total(rows.build).where('at', '>=', since)))
}

/** The money that all calls since then have drawn from the day's budget, however it is known. */
export async function drawnSince(rows: Reading, since: Millis): Promise<number> {
  return (await rows.first(bySince({ since })))?.cost ?? 0
}

/** How many calls a run has begun. */
export async function lastCall(rows: Reading, runId: string): Promise<number> {
  return (await rows.first(last({ runId })))?.call ?? 0
}

const last = statement((db, arg: { runId: string }) =>
  raw<{ call: number }>(db, sql`SELECT coalesce(max(call), 0) AS call FROM usage WHERE run_id = ${arg.runId}`),
)

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

const total = (db: Builder) =>
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
    ])
const byRequest = statement((db, arg: { rootRunId: string }) => total(db).where('root_run_id', '=', arg.rootRunId))
const byRun = statement((db, arg: { runId: string }) => total(db).where('run_id', '=', arg.runId))
// Answered out of the index alone: it is asked before each call that costs something.
const bySince = statement((db, arg: { since: number }) =>
  db.selectFrom('usage').select(sql<number>`coalesce(sum(cost_usd), 0)`.as('cost')).where('at', '>=', arg.since),
)

const reserve = statement(
  (
    db,
    arg: {
      runId: string
      call: number
      rootRunId: string
      model: string
      input: number
      output: number
      cost: number
      at: number
    },
  ) =>
    db.insertInto('usage').values({
      run_id: arg.runId,
      call: arg.call,
      root_run_id: arg.rootRunId,
      model: arg.model,
      state: 'reserved',
      input_tokens: arg.input,
      output_tokens: arg.output,
      cached_tokens: 0,
      cost_usd: arg.cost,
      at: arg.at,
    }),
)

const settle = statement(
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
      })
      .where('run_id', '=', arg.runId)
      .where('call', '=', arg.call),
)

export type UsageRow = Pick<Tables['usage'], 'run_id' | 'model' | 'at'> & CallSum & { session_id: string | null }

/** Every call, with the session it was made for; null where that is not here any more. */
export async function allUsage(rows: Reading, since: Millis): Promise<UsageRow[]> {
  return rows.all(
    rows.build
      .selectFrom('usage')
      .leftJoin('runs', 'runs.id', 'usage.run_id')
      .select([
        'usage.run_id',
        'usage.model',
        'usage.state',
        'usage.input_tokens as input',
        'usage.output_tokens as output',
        'usage.cached_tokens as cached',
        'usage.cost_usd as cost',
        'usage.at',
        'runs.session_id',
        sql<number>`1`.as('calls'),
      ])
      .where('usage.at', '>=', since)
      .orderBy('usage.at'),
  )
}
