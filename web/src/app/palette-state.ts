import { useSyncExternalStore } from 'react'

/** What is typed in the palette; undefined while it is closed. */
let typed: string | undefined
const listeners = new Set<() => void>()

export function openPalette(text = ''): void {
  setPalette(text)
}

export function setPalette(text: string | undefined): void {
  typed = text
  for (const listener of listeners) listener()
}

export function usePalette(): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => typed,
  )
}
