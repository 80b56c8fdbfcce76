import { type ReactNode, useEffect, useState } from 'react'
import { useConnection } from '../live/use-live.ts'
import { formatTime } from '../text/format.ts'
import styles from './shell.module.css'

/** A blink of the connection is not shown. */
const patience = 1500

/** Tells that the connection is lost. What is typed stays, and the page connects again by itself. */
export function ConnectionLine(): ReactNode {
  const connection = useConnection()
  const [isLong, setLong] = useState(false)
  const isLost = connection.state === 'lost'
  useEffect(() => {
    setLong(false)
    if (!isLost) return undefined
    const timer = window.setTimeout(() => setLong(true), patience)
    return () => window.clearTimeout(timer)
  }, [isLost])
  if (connection.state === 'signed-out')
    return (
      <div className={styles['line']} role="status">
        <p>
          You are signed out. Type <code>heddle open</code> for a new link; what you typed is kept.
        </p>
      </div>
    )
  if (connection.state !== 'lost' || !isLong) return null
  return (
    <div className={styles['line']} role="status">
      <p>
        Not connected since {formatTime(connection.since)}. What you type is kept. If Heddle was stopped, start it with{' '}
        <code>heddle up</code>; if it has another address now, <code>heddle open</code> leads there.
      </p>
    </div>
  )
}
