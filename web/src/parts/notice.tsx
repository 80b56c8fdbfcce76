import type { ReactNode } from 'react'
import { RequestError } from '../api/request.ts'
import styles from './notice.module.css'

/** What to see on a page that has nothing to show yet: what would be here, and how it gets here. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className={styles['empty']}>
      <p className={styles['title']}>{title}</p>
      {children}
    </div>
  )
}

/** Why something failed, and what helps. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }): ReactNode {
  const message = error instanceof Error ? error.message : String(error)
  const remedy = error instanceof RequestError ? error.remedy : undefined
  return (
    <div className={styles['failure']} role="alert">
      <p className={styles['title']}>{message}</p>
      {remedy !== undefined && <p>{remedy}</p>}
      {onRetry && (
        <button type="button" onClick={onRetry} className={styles['again']}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Shown while the first answer is on its way. */
export function Loading(): ReactNode {
  return <p className={styles['loading']}>Loading…</p>
}
