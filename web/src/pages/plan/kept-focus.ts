import { type RefObject, useLayoutEffect, useRef } from 'react'

/**
 * Keeps the focus in an element whose buttons and fields come and go: when the one that has it is removed, the first that
 * takes its place gets it. Without that a reader without a mouse would begin again at the top of the page.
 */
export function useKeptFocus(): {
  ref: RefObject<HTMLDivElement | null>
  onFocus(): void
  onBlur(): void
} {
  const ref = useRef<HTMLDivElement>(null)
  const hasFocus = useRef(false)
  // After every change, since any may have removed it; React tells of no blur then.
  useLayoutEffect(() => {
    if (hasFocus.current && document.activeElement === document.body)
      ref.current?.querySelector<HTMLElement>('button:not(:disabled), input, textarea')?.focus()
  })
  return {
    ref,
    onFocus: () => {
      hasFocus.current = true
    },
    onBlur: () => {
      hasFocus.current = false
    },
  }
}
