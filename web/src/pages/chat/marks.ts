import { useState } from 'react'

const storageKey = 'heddle.marked'

/** Turns that are marked for a comparison: the last two. */
export function useMarks(): { marked: string[]; toggle(turnId: string): void } {
  const [marked, setMarked] = useState<string[]>(() => JSON.parse(sessionStorage.getItem(storageKey) ?? '[]'))
  const toggle = (turnId: string) => {
    const others = marked.filter((id) => id !== turnId)
    const next = others.length < marked.length ? others : [...others, turnId].slice(-2)
    sessionStorage.setItem(storageKey, JSON.stringify(next))
    setMarked(next)
  }
  return { marked, toggle }
}
