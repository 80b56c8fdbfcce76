import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
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
      <Line>
        You are signed out. Type <code>heddle open</code> for a new link; what you typed is kept.
      </Line>
    )
  if (connection.state !== 'lost' || !isLong) return null
  return (
    <Line>
      Not connected since {formatTime(connection.since)}. What you type is kept. If Heddle was stopped, start it with{' '}
      <code>heddle up</code>; if it has another address now, <code>heddle open</code> leads there.
    </Line>
  )
}

/** A line above the page. What sticks to the top of the window stands below it, by its height in `--line-height`. */
function Line({ children }: { children: ReactNode }): ReactNode {
  const line = useRef<HTMLParagraphElement>(null)
  useLayoutEffect(() => {
    const { style } = document.documentElement
    const watch = new ResizeObserver(() => style.setProperty('--line-height', `${line.current?.offsetHeight ?? 0}px`))
    if (line.current) watch.observe(line.current)
    return () => {
      watch.disconnect()
      style.removeProperty('--line-height')
    }
  }, [])
  return (
    <p ref={line} className={styles['line']} role="status">
      {children}
    </p>
  )
}
