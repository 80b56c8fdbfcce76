import { sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import type { Usage } from '../domain/turn.ts'
import type { Builder } from './dialect.ts'
import { raw } from './raw.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

/** What a request has cost so far, what is reserved for calls under way included. */
export interface Spent extends Usage {
  calls: number
}

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

/** Replaces the reservation by what the call did cost. A call that failed may have cost something, too. */
export async function settleUsage(
  tx: Tx,
  call: Pick<Call, 'runId' | 'call' | 'model'>,
  state: 'spent' | 'lost',
  usage: Usage,
): Promise<void> {
  await tx.run(
    settle({
      runId: call.runId,
      call: call.call,
      model: call.model,
      state,
      input: usage.inputTokens,
      output: usage.outputTokens,
      cached: usage.cachedTokens,
      cost: usage.costUsd,
    }),
  )
}

/** Reservations of calls whose process died: nobody will ever know what they cost, so what was set aside stands. */
export async function loseUsage(tx: Tx, runId: string): Promise<void> {
  await tx.run(lose({ runId }))
}

export async function spentBy(rows: Reading, of: { rootRunId: string } | { runId: string }): Promise<Spent> {
  const query = 'rootRunId' in of ? byRequest(of) : byRun(of)
  const row = await rows.first(query)
  return {
    calls: row?.calls ?? 0,
    inputTokens: Number(row?.input ?? 0),
    outputTokens: Number(row?.output ?? 0),
    cachedTokens: Number(row?.cached ?? 0),
    costUsd: row?.cost ?? 0,
  }
}

/** The money of all calls since then. */
export async function costSince(rows: Reading, since: Millis): Promise<number> {
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

const total = (db: Builder) =>
  db
    .selectFrom('usage')
    .select([
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
      state: 'spent' | 'lost'
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

export type UsageRow = Omit<Tables['usage'], 'call' | 'root_run_id' | 'state' | 'counted'> & {
  session_id: string | null
}

/** Every call that was made, with the session it was made for. */
export async function allUsage(rows: Reading): Promise<UsageRow[]> {
  return rows.all(
    rows.build
      .selectFrom('usage')
      .innerJoin('runs', 'runs.id', 'usage.run_id')
      .select([
        'usage.run_id',
        'usage.model',
        'usage.input_tokens',
        'usage.output_tokens',
        'usage.cached_tokens',
        'usage.cost_usd',
        'usage.at',
        'runs.session_id',
      ])
      .orderBy('usage.at'),
  )
}
