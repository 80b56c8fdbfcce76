import { useMemo } from 'react'
import { useKeys } from './keys.ts'

/** Marks what `j` and `k` go to; spread it on the link or button of a row. */
export const rowMark = { 'data-row': '' } as const

/** `j` and `k` move the focus from row to row; Enter then opens the row, as on any link. */
export function useRowKeys(onBack?: () => void): void {
  const bound = useMemo(
    () => [
      { keys: 'j', does: 'Next row', run: () => moveFocus(1) },
      { keys: 'k', does: 'Previous row', run: () => moveFocus(-1) },
      ...(onBack ? [{ keys: 'Escape', does: 'Back', run: onBack }] : []),
    ],
    [onBack],
  )
  useKeys(bound)
}

function moveFocus(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')].filter((row) => row.checkVisibility())
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  const next = at === -1 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))
  rows[next]?.focus()
  rows[next]?.scrollIntoView({ block: 'nearest' })
}
