import type { ReactNode } from 'react'
import { useApprovals } from '../api/queries.ts'
import type { PlanLine } from '../api/wire.ts'
import { countOf } from '../text/format.ts'
import { planStartedBy } from './approval-card.tsx'
import styles from './plan-progress.module.css'
import { State, stateOf } from './state.tsx'

interface PlanProgressProps {
  plan: Pick<PlanLine, 'id' | 'counts' | 'status' | 'needsYou'>
}

/** How far a plan is: a block for each task, and words. */
export function PlanProgress({ plan: { id, counts, status, needsYou } }: PlanProgressProps): ReactNode {
  const { data: approvals } = useApprovals()
  const isAsked = approvals?.some((approval) => planStartedBy(approval) === id)
  const all = Object.entries(counts).flatMap(([name, count]) => Array.from({ length: count }, () => name))
  const done = counts.completed ?? 0
  const problems = [
    counts.failed ? `${counts.failed} failed` : undefined,
    counts.blocked ? `${counts.blocked} blocked` : undefined,
  ].filter((word) => word !== undefined)
  const word = [`${done} of ${all.length} done`, ...problems].join(', ')
  return (
    <span className={styles['progress']}>
      {all.length <= 40 && (
        <span className={styles['blocks']} aria-hidden="true">
          {all
            .toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
            .map((name, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: blocks of equal tasks have no other name
              <span key={at} className={styles[name] ?? styles['pending']} />
            ))}
        </span>
      )}
      <State
        name={needsYou || isAsked ? 'needs-you' : stateOf(status)}
        word={status === 'proposed' ? `not started, ${countOf(all.length, 'task')}` : word}
      />
    </span>
  )
}

const order = ['completed', 'skipped', 'cancelled', 'running', 'failed', 'blocked', 'pending']
