import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { get } from '../../api/request.ts'
import { serverNow } from '../../api/server-time.ts'
import type { DayUsage } from '../../api/wire.ts'
import { Section } from '../../parts/page.tsx'
import { formatUsd } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './usage.module.css'

const shownDays = 30
const colors = ['var(--blue)', 'var(--green)', 'var(--yellow)', 'var(--purple)', 'var(--brown)']

/** What one model cost on one day. */
interface DayCost {
  day: string
  model: string
  usd: number
}

/** Cost by day, stacked by model, with today's limit as a line across. The table below has the same figures. */
export function DayBars({ limit }: { limit: number | null }): ReactNode {
  const { data = [] } = useQuery({
    queryKey: ['usage', 'days'],
    queryFn: ({ signal }) => readDays(signal),
  })
  const most = Math.max(...sumsByDay(data).values(), 0)
  // Without a cost there is nothing to compare.
  if (most === 0) return null
  return (
    <Section title={`The last ${shownDays} days`} more={`most in a day: ${formatUsd(most)}`}>
      <Bars costs={data} most={most} limit={limit} />
    </Section>
  )
}

function Bars({ costs, most, limit }: { costs: DayCost[]; most: number; limit: number | null }): ReactNode {
  const models = [...new Set(costs.map(({ model }) => model))]
  const days = lastDays(shownDays)
  const [width, height, foot] = [900, 180, 18]
  const top = limit !== null && limit < most * 2 ? Math.max(most, limit) : most
  const scale = (usd: number) => (usd / top) * (height - foot - 12)
  const step = width / days.length
  return (
    <>
      <svg className={styles['bars']} viewBox={`0 0 ${width} ${height}`} role="img" aria-label="Cost by day">
        {days.map((day, at) => {
          let y = height - foot
          return models.map((model, index) => {
            const usd = costs.find((cost) => cost.day === day && cost.model === model)?.usd ?? 0
            y -= scale(usd)
            return (
              <rect
                key={`${day}-${model}`}
                x={at * step + 2}
                y={y}
                width={step - 4}
                height={scale(usd)}
                fill={colors[index % colors.length]}
              />
            )
          })
        })}
        {limit !== null && top >= limit && (
          <>
            <line
              x1="0"
              x2={width}
              y1={height - foot - scale(limit)}
              y2={height - foot - scale(limit)}
              stroke="var(--red)"
            />
            <text x="0" y={height - foot - scale(limit) - 4}>
              limit {formatUsd(limit)}
            </text>
          </>
        )}
        <text x="0" y={height - 4}>
          {days[0]}
        </text>
        <text x={width} y={height - 4} textAnchor="end">
          today
        </text>
      </svg>
      <p className={styles['legend']}>
        {models.map((model, index) => (
          <span key={model} style={{ color: colors[index % colors.length] }}>
            {withoutBidi(model)}
          </span>
        ))}
      </p>
    </>
  )
}

function sumsByDay(costs: readonly DayCost[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { day, usd } of costs) sums.set(day, (sums.get(day) ?? 0) + usd)
  return sums
}

/** Days are UTC, as budgets are. */
function lastDays(count: number): string[] {
  const day = 86_400_000
  const today = Math.floor(serverNow() / day) * day
  return Array.from({ length: count }, (_, at) => new Date(today - (count - 1 - at) * day).toISOString().slice(0, 10))
}

async function readDays(signal: AbortSignal): Promise<DayCost[]> {
  const { days } = await get<{ days: DayUsage[] }>('/v1/usage/days', { days: shownDays }, signal)
  return days.map(({ day, model, costUsd, estimatedUsd, lostUsd }) => ({
    day,
    model,
    usd: costUsd + estimatedUsd + lostUsd,
  }))
}
