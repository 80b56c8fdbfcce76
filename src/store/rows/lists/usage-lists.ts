import { type RawBuilder, sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import { type CallSum, type Spending, spendingOf, trialKinds } from '../../../domain/spending.ts'
import { raw } from '../../raw.ts'
import type { Reading } from '../../store.ts'
import type { OwnedBy } from '../access/own-sessions.ts'
import type { PageQuery } from '../session-lists.ts'
import { callSums } from '../usage.ts'

/** Which calls a report is about. */
interface UsageScope extends OwnedBy {
  since: Millis
}

/** What calls can be grouped by; `day` is the number of the UTC day. */
type UsageKey = 'model' | 'session' | 'agent' | 'run' | 'day'

/** Spending under one key, with the time of its first call. */
export interface UsageGroup {
  key: string
  first: Millis
  sums: CallSum[]
}

/** Position in a report: the groups that began last come first. */
type UsagePosition = Pick<UsageGroup, 'key' | 'first'>

/** Spending by key, those that began last first; at most `limit` keys, or all. */
export async function usageBy(
  rows: Reading,
  by: UsageKey,
  { since, principal }: UsageScope,
  { limit, after }: Partial<PageQuery<UsagePosition>>,
): Promise<UsageGroup[]> {
  const follows = after
    ? sql`HAVING min(began) < ${after.first} OR (min(began) = ${after.first} AND key > ${after.key})`
    : sql``
  const conditions = [
    ...(since === 0 ? [] : [sql`usage.at >= ${since}`]),
    ...(principal === undefined ? [] : [sql`usage.principal = ${principal}`]),
  ]
  const found = await rows.all(
    raw<CallSum & { key: string; first: number }>(
      rows.build,
      // Summed up once: the page is found among the sums, and there are far fewer of them than of calls.
      sql`WITH sums AS MATERIALIZED (
            SELECT ${keys[by]} AS key, usage.state, min(usage.at) AS began, count(*) AS calls, sum(input_tokens) AS input,
                   sum(output_tokens) AS output, sum(cached_tokens) AS cached, sum(cost_usd) AS cost,
                   sum(cost_usd * price_assumed) AS assumed
            FROM usage ${joins(by)}
            ${conditions.length === 0 ? sql`` : sql`WHERE ${sql.join(conditions, sql` AND `)}`}
            GROUP BY 1, 2
          ),
          page AS (
            SELECT key, min(began) AS first FROM sums GROUP BY key ${follows}
            ORDER BY first DESC, key ${limit === undefined ? sql`` : sql`LIMIT ${limit}`}
          )
          SELECT sums.key, first, state, calls, input, output, cached, cost, assumed
          FROM page JOIN sums ON sums.key = page.key`,
    ),
  )
  return [...Map.groupBy(found, ({ key }) => key)]
    .map(([key, sums]) => ({ key, first: sums[0]?.first ?? 0, sums }))
    .sort(inReportOrder)
}

/** Compares positions: the one that began last is first. */
export function inReportOrder(a: UsagePosition, b: UsagePosition): number {
  return b.first - a.first || (a.key < b.key ? -1 : 1)
}

/** Spending of each day and model, oldest first; `day` is the number of the UTC day. */
export async function usageOfDays(
  rows: Reading,
  { since, principal }: UsageScope,
): Promise<{ day: number; model: string; sums: CallSum[] }[]> {
  const number = sql<number>`usage.at / 86400000`
  let query = callSums(rows.build)
    .select([number.as('day'), 'model'])
    .groupBy(['day', 'model'])
  query = query.where('at', '>=', since)
  if (principal !== undefined) query = query.where('principal', '=', principal)
  const found = await rows.all(query)
  const groups = Map.groupBy(found, ({ day, model }) => `${day} ${model}`)
  return [...groups.values()]
    .flatMap((sums) => (sums[0] ? [{ day: Number(sums[0].day), model: sums[0].model, sums }] : []))
    .sort((a, b) => a.day - b.day || (a.model < b.model ? -1 : 1))
}

/** Model calls of a run, in order. */
export async function callsOfRun(rows: Reading, runId: string) {
  const found = await rows.all(rows.build.selectFrom('usage').selectAll().where('run_id', '=', runId).orderBy('call'))
  return found.map(({ call, model, state, input_tokens, output_tokens, cost_usd, at }) => ({
    ...{ call, model, state, at, costUsd: cost_usd },
    inputTokens: input_tokens,
    outputTokens: output_tokens,
  }))
}

/** Spending of all calls. */
export async function totalUsage(rows: Reading, { since, principal }: UsageScope): Promise<Spending> {
  let query = callSums(rows.build)
  // Without a condition on time the table is read in its own order, which is several times faster than by the index.
  if (since !== 0) query = query.where('at', '>=', since)
  if (principal !== undefined) query = query.where('principal', '=', principal)
  return spendingOf(await rows.all(query))
}

/** The name of the command that made a call outside of any run. */
const trialKind = sql`CASE ${sql.join(
  trialKinds.map(
    (kind) =>
      sql`WHEN substr(usage.run_id, 1, ${sql.lit(kind.length + 1)}) = ${sql.lit(`${kind}:`)} THEN ${sql.lit(kind)}`,
  ),
  sql` `,
)} END`

const keys: Record<UsageKey, RawBuilder<unknown>> = {
  model: sql`usage.model`,
  run: sql`coalesce(${trialKind}, usage.run_id)`,
  agent: sql`coalesce(runs.agent, ${trialKind}, '–')`,
  session: sql`coalesce(sessions.label, ${trialKind}, '–')`,
  day: sql`cast(usage.at / 86400000 AS TEXT)`,
}

function joins(by: UsageKey): RawBuilder<unknown> {
  if (by === 'session')
    return sql`LEFT JOIN runs ON runs.id = usage.run_id LEFT JOIN sessions ON sessions.id = runs.session_id`
  return by === 'agent' ? sql`LEFT JOIN runs ON runs.id = usage.run_id` : sql``
}
