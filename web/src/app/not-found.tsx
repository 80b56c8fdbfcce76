import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { decodePart } from '../parts/address.ts'
import { Button } from '../parts/button.tsx'
import { EmptyState } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { withoutBidi } from '../text/safe-text.ts'
import { openPalette } from './palette-state.ts'

/** An address without a page: says what was looked for, and offers to search for it. */
export function NotFound(): ReactNode {
  const [location] = useLocation()
  const wanted = withoutBidi(decodePart(location))
  return (
    <Page title="Not found">
      <EmptyState title={`There is no page ${wanted}`}>
        <p>
          It may have been moved, or the address is cut off. Search for it, or go to the <Link href="/">overview</Link>.
        </p>
        <div>
          <Button onClick={() => openPalette(wanted.split('/').at(-1) ?? '')}>Search for it</Button>
        </div>
      </EmptyState>
    </Page>
  )
}
