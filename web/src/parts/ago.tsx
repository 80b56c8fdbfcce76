import { type ReactNode, useSyncExternalStore } from 'react'
import { serverNow } from '../api/server-time.ts'
import { formatAgo, formatTime } from '../text/format.ts'

/** How long ago something was; it counts on by itself. */
export function Ago({ at }: { at: string | number }): ReactNode {
  const now = useNow()
  return (
    <time dateTime={new Date(at).toISOString()} title={formatTime(at, now)}>
      {formatAgo(at, now)}
    </time>
  )
}

/** The time, every five seconds: one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

let now = serverNow()
const listeners = new Set<() => void>()
let timer: number | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  // Without a timer the time has stood still, or was taken before Heddle's was known.
  if (timer === undefined) now = serverNow()
  timer ??= window.setInterval(() => {
    now = serverNow()
    for (const each of listeners) each()
  }, 5000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    window.clearInterval(timer)
    timer = undefined
  }
}
