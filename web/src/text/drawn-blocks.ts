import { useEffect, useRef, useState } from 'react'

/** Characters that are drawn at first; the code that parses is slow when it runs for the first time. */
const firstPiece = 1000
const leastPiece = 250
const mostPiece = 8000
/** Milliseconds that drawing a piece should take; laying it out takes about as long again. */
const wantedTime = 20

/**
 * How many blocks of a text are drawn. A long text is drawn piece by piece, each in a task of its own, so that the page
 * stays usable meanwhile; pieces are as long as the time that the last one took allows.
 */
export function useDrawnBlocks(blocks: readonly string[]): number {
  const piece = useRef(firstPiece)
  const measured = useRef(0)
  const [drawn, setDrawn] = useState(() => countWithin(blocks, 0, firstPiece))
  const begun = performance.now()
  useEffect(() => {
    if (measured.current !== drawn) {
      const took = Math.max(1, performance.now() - begun)
      const factor = Math.min(2, Math.max(0.5, wantedTime / took))
      piece.current = Math.min(mostPiece, Math.max(leastPiece, piece.current * factor))
      measured.current = drawn
    }
    if (drawn >= blocks.length) return undefined
    const timer = window.setTimeout(() => setDrawn(countWithin(blocks, drawn, piece.current)))
    return () => window.clearTimeout(timer)
  })
  return drawn
}

/** Blocks up to the given length after those that are there; at least one more. */
function countWithin(blocks: readonly string[], from: number, length: number): number {
  let count = from
  let left = length
  while (count < blocks.length && (count === from || left > 0)) left -= blocks[count++]?.length ?? 0
  return count
}
