import { useLayoutEffect, useState } from 'react'

/** The second click of a double click comes within this time, in milliseconds. */
const settleTime = 500

const places = new Set<() => void>()

/**
 * Whether what uses this has stood still for a moment: false for a while after its version changed, and after it or another
 * that uses it came or went. A click that was meant for what was there before then has no effect on what took its place.
 */
export function useSettled(version: unknown): boolean {
  const [isSettled, setSettled] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another thing to look at
  useLayoutEffect(() => {
    let timer: number | undefined
    const wait = () => {
      setSettled(false)
      window.clearTimeout(timer)
      timer = window.setTimeout(() => setSettled(true), settleTime)
    }
    places.add(wait)
    for (const each of places) each()
    return () => {
      window.clearTimeout(timer)
      places.delete(wait)
      for (const each of places) each()
    }
  }, [version])
  return isSettled
}
