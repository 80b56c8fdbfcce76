import { lazy, type ReactNode, Suspense } from 'react'
import { loadPart } from '../api/load-part.ts'
import type { MenuProps } from './base-menu.tsx'
import { buttonLook } from './button.tsx'

const BaseMenu = lazy(() => loadPart(() => import('./base-menu.tsx')))

/** A button that opens a list of things to do. What opens it is loaded after the page is drawn. */
export function Menu(props: MenuProps): ReactNode {
  const { label, text } = props
  const button = (
    <button type="button" className={buttonLook('quiet')} aria-label={label}>
      {text ?? '⋯'}
    </button>
  )
  return (
    <Suspense fallback={button}>
      <BaseMenu {...props} />
    </Suspense>
  )
}
