import { createContext, useCallback, useContext, useSyncExternalStore } from 'react'
import type { Connection, Live } from './live.ts'
import type { RunText } from './run-texts.ts'

/** The connection of this tab; provided once, in app.tsx. */
export const LiveContext = createContext<Live | undefined>(undefined)

function useLive(): Live {
  const live = useContext(LiveContext)
  if (!live) throw new Error('used outside of a signed-in page')
  return live
}

export function useConnection(): Connection {
  const live = useLive()
  return useSyncExternalStore(
    (listener) => live.subscribe(listener),
    () => live.connection,
  )
}

/** Text that this run's model is writing; undefined between calls. The last one stays while it is shown. */
export function useRunText(runId: string): RunText | undefined {
  const { texts } = useLive()
  const subscribe = useCallback((listener: () => void) => texts.subscribe(runId, listener), [texts, runId])
  return useSyncExternalStore(subscribe, () => texts.get(runId))
}
