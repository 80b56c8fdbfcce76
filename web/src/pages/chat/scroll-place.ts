import { useEffect, useLayoutEffect, useRef } from 'react'
import type { PathTurn } from '../../api/wire.ts'

/** How near to the end counts as being there. */
const nearEnd = 120

interface ScrollPlace {
  /** The turn that the address names. */
  shown: string | undefined
  turns: readonly PathTurn[]
  isReady: boolean
  /** The newest message that was sent from here and waits. */
  sent: string | undefined
}

/**
 * Keeps the reader's place: at the turn that the address names, else at the end while it grows, else where they are. Who sends
 * a message is taken to it.
 */
export function useScrollPlace({ shown, turns, isReady, sent }: ScrollPlace): void {
  const isAtEnd = useRef(true)
  const first = turns[0]?.id
  const before = useRef<{ first: string | undefined; height: number }>({ first: undefined, height: 0 })

  useEffect(() => {
    let last = window.scrollY
    const onScroll = () => {
      const isNearEnd = window.scrollY + window.innerHeight >= document.body.scrollHeight - nearEnd
      // Only scrolling up leaves the end: growing moves it away.
      if (isNearEnd || window.scrollY < last) isAtEnd.current = isNearEnd
      last = window.scrollY
    }
    window.addEventListener('scroll', onScroll, { passive: true })
    return () => window.removeEventListener('scroll', onScroll)
  }, [])

  // The page grows while an answer is written.
  useEffect(() => {
    const grow = new ResizeObserver(() => {
      if (isAtEnd.current) window.scrollTo({ top: document.body.scrollHeight })
    })
    grow.observe(document.body)
    return () => grow.disconnect()
  }, [])

  useEffect(() => {
    if (shown === undefined || !isReady) return
    const turn = document.getElementById(`turn-${shown}`)
    if (!turn) return
    isAtEnd.current = false
    turn.scrollIntoView({ block: 'start' })
    turn.focus({ preventScroll: true })
  }, [shown, isReady])

  useEffect(() => {
    if (sent === undefined) return
    isAtEnd.current = true
    window.scrollTo({ top: document.body.scrollHeight })
  }, [sent])

  // Earlier turns were added above: what is read stays where it is.
  useLayoutEffect(() => {
    const height = document.body.scrollHeight
    const isMoreAbove = before.current.first !== undefined && before.current.first !== first && !isAtEnd.current
    if (isMoreAbove) window.scrollBy({ top: height - before.current.height })
    before.current = { first, height }
  })
}
