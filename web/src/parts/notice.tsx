import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { RequestError } from '../api/request.ts'
import { useConnection } from '../live/use-live.ts'
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

/** Why something failed, and what helps. That Heddle did not answer is told until it does. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }): ReactNode {
  if (useIsOver(error)) return null
  const message = error instanceof Error ? error.message : String(error)
  const remedy = error instanceof RequestError ? error.remedy : undefined
  const isMissing = error instanceof RequestError && error.code === 'not_found'
  return (
    <div className={styles['failure']} role="alert">
      <p className={styles['title']}>{withoutBidi(message)}</p>
      {remedy !== undefined && <p>{withoutBidi(remedy)}</p>}
      {isMissing && <WhyMissing />}
      {onRetry && canHelp(error) && (
        <button type="button" onClick={onRetry} className={styles['again']}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Whether Heddle did not answer, and does so now. */
export function useIsOver(error: unknown): boolean {
  const connection = useConnection()
  const isUnreachable = error instanceof RequestError && error.code === 'unreachable'
  return isUnreachable && connection.state === 'live' && connection.since > error.at
}

/** Lists that have what an address can name, by the first part of the address. */
const lists = new Map([
  ['runs', { href: '/runs', name: 'All runs' }],
  ['plans', { href: '/plans', name: 'All plans' }],
  ['tasks', { href: '/plans', name: 'All plans' }],
  ['needs', { href: '/needs', name: 'All that needs you' }],
  ['memory', { href: '/memory', name: 'All memories' }],
  ['agents', { href: '/agents', name: 'All agents' }],
])
const allTurns = { href: '/turns', name: 'All turns' }

/** Why something does not exist: any text can name it, and its name is a link all the same. */
function WhyMissing(): ReactNode {
  const [location] = useLocation()
  const list = lists.get(location.split('/')[1] ?? '') ?? allTurns
  return (
    <p>
      It was removed, belongs to another folder, or never was: agents write such names, too, and may be wrong.{' '}
      <Link href={list.href}>{list.name}</Link>
    </p>
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
