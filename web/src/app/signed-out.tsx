import type { ReactNode } from 'react'
import { RequestError } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { EmptyState } from '../parts/notice.tsx'
import styles from './shell.module.css'

/** Shown to a user who is not signed in, or cannot reach Heddle. */
export function SignedOut({ error, onRetry }: { error: unknown; onRetry(): void }): ReactNode {
  const isRefused = error instanceof RequestError && error.status === 401
  const remedy = error instanceof RequestError && error.status !== 0 ? error.remedy : undefined
  return (
    <main className={styles['alone']}>
      <h1>heddle</h1>
      {isRefused ? (
        <EmptyState title={error.code === 'bad_code' ? error.message : 'You are not signed in'}>
          <p>
            On the machine where Heddle runs, type <code>heddle open</code>: it prints a link that signs you in once.
          </p>
        </EmptyState>
      ) : (
        <EmptyState title={error instanceof Error ? error.message : 'Heddle does not answer'}>
          {remedy === undefined ? (
            <p>
              Start it with <code>heddle up</code>, then try again.
            </p>
          ) : (
            <p>{remedy}</p>
          )}
          <div>
            <Button onClick={onRetry}>Try again</Button>
          </div>
        </EmptyState>
      )}
    </main>
  )
}
