import type { ReactNode } from 'react'
import { Button } from '../parts/button.tsx'
import { EmptyState } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { copyToClipboard } from '../text/copy-to-clipboard.ts'

/** A screen that failed; the rest of the page goes on. */
export function PageFailure({ error }: { error: Error }): ReactNode {
  const details = `${error.stack ?? error.message}\n${window.location.href}\n${navigator.userAgent}`
  return (
    <Page title="This page failed">
      <EmptyState title="This page could not be shown">
        <p>Nothing is lost: it is a defect of the page. Other pages work, and so does the command line.</p>
        <pre className="small">{error.message}</pre>
        <div className="row">
          <Button onClick={() => window.location.reload()}>Reload</Button>
          <Button look="quiet" onClick={() => void copyToClipboard(details)}>
            Copy details
          </Button>
        </div>
      </EmptyState>
    </Page>
  )
}
