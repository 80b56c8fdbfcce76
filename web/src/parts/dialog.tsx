import { lazy, type ReactNode, Suspense, useState } from 'react'
import { loadPart } from '../api/load-part.ts'
import type { DialogProps } from './base-dialog.tsx'

const BaseDialog = lazy(() => loadPart(() => import('./base-dialog.tsx')))

/**
 * A window over the page. Escape and a click beside it close it, and the focus goes back to where it was. It is loaded when
 * the first one opens.
 */
export function Dialog(props: DialogProps): ReactNode {
  const [wasOpen, setWasOpen] = useState(false)
  if (props.isOpen && !wasOpen) setWasOpen(true)
  if (!props.isOpen && !wasOpen) return null
  return (
    <Suspense>
      <BaseDialog {...props} />
    </Suspense>
  )
}
