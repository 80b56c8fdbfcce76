import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useStatus } from '../../api/queries.ts'
import { get } from '../../api/request.ts'
import type { Usage } from '../../api/wire.ts'
import { DayBudget } from '../../parts/budget.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { formatCost, formatCount, formatTokens, shortId } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import { DayBars } from './day-bars.tsx'
import styles from './usage.module.css'

const keys = ['agent', 'model', 'session', 'run', 'day'] as const
type Key = (typeof keys)[number]

/** What was spent: today against its limit, by day, and by agent, model, session or run. */
export default function UsagePage(): ReactNode {
  const [search] = useSearchParams()
  const by = keys.find((key) => key === search.get('by')) ?? 'agent'
  const isToday = search.get('of') !== 'all'
  const { data: status } = useStatus()
  const usage = useQuery({
    queryKey: ['usage', by, isToday],
    queryFn: ({ signal }) => get<Usage>('/v1/usage', { by, today: isToday, limit: 200 }, signal),
  })
  return (
    <Page title="Usage" facts={status && <DayBudget status={status} />}>
      <DayBars limit={status?.dayLimitUsd ?? null} />
      <Section title={isToday ? 'Today' : 'All time'} more={<Choices by={by} isToday={isToday} />}>
        {usage.error && <Failure error={usage.error} onRetry={() => void usage.refetch()} />}
        {usage.isPending && <Loading />}
        {usage.data && <UsageTable usage={usage.data} by={by} isToday={isToday} />}
      </Section>
    </Page>
  )
}

function Choices({ by, isToday }: { by: Key; isToday: boolean }): ReactNode {
  const of = isToday ? '' : '&of=all'
  return (
    <nav className={styles['choices']} aria-label="Group by">
      {keys.map((key) => (
        <Link key={key} href={`/usage?by=${key}${of}`} aria-current={key === by ? 'true' : undefined}>
          by {key}
        </Link>
      ))}
      <Link href={`/usage?by=${by}${isToday ? '&of=all' : ''}`}>{isToday ? 'all time' : 'only today'}</Link>
    </nav>
  )
}

function UsageTable({ usage: { rows, total }, by, isToday }: { usage: Usage; by: Key; isToday: boolean }): ReactNode {
  if (rows.length === 0)
    return (
      <EmptyState title={isToday ? 'Nothing was spent today' : 'Nothing was spent yet'}>
        <p>Every call of a model is counted here, with what it cost; ~ marks what is estimated.</p>
      </EmptyState>
    )
  const costs = rows.map((row) => row.costUsd + row.estimatedUsd + row.lostUsd)
  const most = Math.max(...costs, 1e-9)
  const byCost = rows.map((row, at) => ({ row, cost: costs[at] ?? 0 })).toSorted((a, b) => b.cost - a.cost)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables scroll, also by keyboard
    <section className={styles['wide']} tabIndex={0} aria-label="Spending">
      <table className={styles['table']}>
        <thead>
          <tr>
            <th scope="col">{by}</th>
            <th scope="col">cost</th>
            <th scope="col" className={styles['share']}>
              <span className="visually-hidden">share</span>
            </th>
            <th scope="col">in</th>
            <th scope="col">cached</th>
            <th scope="col">out</th>
            <th scope="col">calls</th>
          </tr>
        </thead>
        <tbody>
          {(by === 'day' ? byCost.toSorted((a, b) => b.row.key.localeCompare(a.row.key)) : byCost).map(
            ({ row, cost }) => (
              <tr key={row.key}>
                <th scope="row">
                  <KeyName name={row.key} by={by} />
                </th>
                <td>{formatCost(row)}</td>
                <td className={styles['share']}>
                  <span style={{ width: `${(cost / most) * 100}%` }} aria-hidden="true" />
                </td>
                <td>{formatTokens(row.inputTokens + row.estimatedInputTokens)}</td>
                <td>{formatTokens(row.cachedTokens)}</td>
                <td>{formatTokens(row.outputTokens + row.estimatedOutputTokens)}</td>
                <td>{formatCount(row.calls)}</td>
              </tr>
            ),
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">all</th>
            <td>{formatCost(total)}</td>
            <td className={styles['share']} />
            <td>{formatTokens(total.inputTokens + total.estimatedInputTokens)}</td>
            <td>{formatTokens(total.cachedTokens)}</td>
            <td>{formatTokens(total.outputTokens + total.estimatedOutputTokens)}</td>
            <td>{formatCount(total.calls)}</td>
          </tr>
        </tfoot>
      </table>
    </section>
  )
}

function KeyName({ name, by }: { name: string; by: Key }): ReactNode {
  const shown = withoutBidi(name)
  if (by === 'run')
    return (
      <Link href={`/runs/${encodeURIComponent(name)}`} className="mono">
        run:{shortId(shown)}
      </Link>
    )
  if (by === 'session') return <Link href={`/s/${encodeURIComponent(name)}`}>{shown}</Link>
  return by === 'agent' ? `@${shown}` : shown
}
