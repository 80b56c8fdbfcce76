import { sql } from 'kysely'
import type { CostState } from '../../domain/spending.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'

/** Max ended calls that are summed each time before they are moved into the total; few requests exceed it. */
const maxUncounted = 64

/** Budget used by a request, reservations of open calls included. */
export interface RequestSpending {
  tokens: number
  costUsd: number
  /** Calls made or reserved. */
  steps: number
}

export const nothingSpent: RequestSpending = { tokens: 0, costUsd: 0, steps: 0 }

/**
 * Sums all calls of a request at constant cost. The root run must be locked: only its holder moves calls into the total.
 */
export async function spendingOfRequest(tx: Tx, rootRunId: string): Promise<RequestSpending> {
  const sum = await tx.first(total({ rootRunId }))
  if (Number(sum?.ended ?? 0) > maxUncounted) await countEnded(tx, rootRunId)
  return { tokens: Number(sum?.tokens ?? 0), costUsd: sum?.cost_usd ?? 0, steps: Number(sum?.steps ?? 0) }
}

/** Moves ended calls into the total. Calls may end meanwhile: adds exactly the rows that were marked. */
async function countEnded(tx: Tx, rootRunId: string): Promise<void> {
  const found = await tx.all(markCounted({ rootRunId }))
  const tokens = found.reduce((sum, call) => sum + Number(call.input_tokens) + Number(call.output_tokens), 0)
  const costUsd = found.reduce((sum, call) => sum + call.cost_usd, 0)
  const steps = found.filter(({ state }) => state !== 'free').length
  await tx.run(add({ rootRunId, tokens, costUsd, steps }))
}

// The condition on usage is spelled like the partial index that it must use.
const total = statement((db, arg: { rootRunId: string }) =>
  raw<{ ended: number; tokens: number; cost_usd: number; steps: number }>(
    db,
    sql`SELECT uncounted.ended,
               uncounted.tokens + coalesce(counted.tokens, 0) AS tokens,
               uncounted.cost_usd + coalesce(counted.cost_usd, 0) AS cost_usd,
               uncounted.steps + coalesce(counted.steps, 0) AS steps
        FROM (SELECT coalesce(sum(CASE WHEN state = 'reserved' THEN 0 ELSE 1 END), 0) AS ended,
                     coalesce(sum(input_tokens + output_tokens), 0) AS tokens,
                     coalesce(sum(cost_usd), 0) AS cost_usd,
                     coalesce(sum(CASE WHEN state = 'free' THEN 0 ELSE 1 END), 0) AS steps
              FROM usage WHERE root_run_id = ${arg.rootRunId} AND counted = 0) AS uncounted
        LEFT JOIN request_totals AS counted ON counted.root_run_id = ${arg.rootRunId}`,
  ),
)

const markCounted = statement((db, arg: { rootRunId: string }) =>
  raw<{ state: CostState; input_tokens: number; output_tokens: number; cost_usd: number }>(
    db,
    sql`UPDATE usage SET counted = 1
        WHERE root_run_id = ${arg.rootRunId} AND counted = 0 AND state <> 'reserved'
        RETURNING state, input_tokens, output_tokens, cost_usd`,
  ),
)

const add = statement((db, arg: { rootRunId: string; tokens: number; costUsd: number; steps: number }) =>
  db
    .insertInto('request_totals')
    .values({ root_run_id: arg.rootRunId, tokens: arg.tokens, cost_usd: arg.costUsd, steps: arg.steps })
    .onConflict((conflict) =>
      conflict.column('root_run_id').doUpdateSet({
        tokens: sql<number>`request_totals.tokens + excluded.tokens`,
        cost_usd: sql<number>`request_totals.cost_usd + excluded.cost_usd`,
        steps: sql<number>`request_totals.steps + excluded.steps`,
      }),
    ),
)
