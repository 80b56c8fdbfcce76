import type { ReactNode } from 'react'
import type { Status } from '../api/wire.ts'
import { formatUsd } from '../text/format.ts'
import styles from './budget.module.css'

/** What was spent today, with what is estimated, lost or reserved, of what may be spent a day. */
export function DayBudget({ status }: { status: Status }): ReactNode {
  const { spentTodayUsd, estimatedTodayUsd, lostTodayUsd, reservedTodayUsd, dayLimitUsd } = status
  const spent = spentTodayUsd + estimatedTodayUsd + lostTodayUsd + reservedTodayUsd
  return <Budget spent={spent} of={dayLimitUsd} what="today" />
}

/** What was spent of what may be spent, as words and a bar. */
export function Budget({ spent, of, what }: { spent: number; of: number | null; what: string }): ReactNode {
  const share = of === null || of === 0 ? 0 : Math.min(1, spent / of)
  return (
    <span className={styles['budget']}>
      <span className="mono">
        {formatUsd(spent)}
        {of !== null && ` of ${formatUsd(of)}`} <span className={styles['what']}>{what}</span>
      </span>
      {of !== null && (
        <span className={styles['bar']} aria-hidden="true">
          <span
            className={share >= 0.9 ? styles['nearly'] : styles['spent']}
            style={{ width: `${Math.max(share * 100, spent > 0 ? 2 : 0)}%` }}
          />
        </span>
      )}
    </span>
  )
}
