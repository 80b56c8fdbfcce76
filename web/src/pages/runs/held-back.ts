import { useState } from 'react'
import type { RequestTree } from '../../parts/run-tree.ts'

/**
 * Holds new requests back while the reader has scrolled down, so that rows do not move away under the pointer: `held` of
 * them wait above.
 */
export function useHeldBack(trees: readonly RequestTree[]): { shown: RequestTree[]; held: number; showHeld(): void } {
  const newest = trees[0]?.root ?? ''
  const [top, setTop] = useState(newest)
  const isAtTop = window.scrollY < 80
  if (newest > top && (isAtTop || top === '')) setTop(newest)
  const shown = trees.filter(({ root }) => root <= top)
  const showHeld = () => {
    setTop(newest)
    window.scrollTo({ top: 0 })
  }
  // Another filter has its own newest request.
  if (shown.length === 0 && trees.length > 0) return { shown: [...trees], held: 0, showHeld }
  return { shown, held: trees.length - shown.length, showHeld }
}
