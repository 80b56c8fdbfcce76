import type { ReactNode } from 'react'
import { RequestError } from '../api/request.ts'
import { withoutBidi } from '../text/safe-text.ts'
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
      <p className={styles['title']}>{withoutBidi(message)}</p>
      {remedy !== undefined && <p>{withoutBidi(remedy)}</p>}
      {onRetry && canHelp(error) && (
        <button type="button" onClick={onRetry} className={styles['again']}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Whether the same request may have another answer: what does not exist, or is not allowed, stays so. */
function canHelp(error: unknown): boolean {
  return !(error instanceof RequestError) || error.canRetry || error.status >= 500
}

/** Shown while the first answer is on its way. */
export function Loading(): ReactNode {
  return <p className={styles['loading']}>Loading…</p>
}
