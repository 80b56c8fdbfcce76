import { type ReactNode, useEffect, useState } from 'react'
import { useStatus } from '../api/queries.ts'
import { withoutBidi } from '../text/safe-text.ts'
import { Button } from './button.tsx'
import styles from './page.module.css'

interface PageProps {
  /** Of the document and, unless `heading` replaces it, of the page. */
  title: string
  heading?: ReactNode
  /** Beside the title: facts, budget, state. */
  facts?: ReactNode
  /** At the end of the title's line. */
  actions?: ReactNode
  children: ReactNode
  /**
   * Beside the page; on a narrow screen a button with this label opens it. One with `onClose` is there because the reader
   * opened it: it lies over a narrow page at once.
   */
  side?: { label: string; content: ReactNode; onClose?: () => void } | undefined
  /** `full` for graphs and tables, `reading` for text. */
  width?: 'reading' | 'full'
}

/** A screen: its title, what is known at one glance, and its content. */
export function Page({ title, heading, facts, actions, children, side, width = 'full' }: PageProps): ReactNode {
  useTitle(title)
  const [wasSideOpened, setSideOpen] = useState(false)
  const isSideOpen = wasSideOpened || side?.onClose !== undefined
  return (
    <div className={side === undefined ? styles['page'] : `${styles['page']} ${styles['with-side']}`}>
      <main className={styles['main']} id="content" tabIndex={-1}>
        <header className={styles['header']}>
          <h1 className={styles['title']}>{heading ?? withoutBidi(title)}</h1>
          {facts !== undefined && <div className={styles['facts']}>{facts}</div>}
          <div className={styles['actions']}>
            {actions}
            {side !== undefined && side.onClose === undefined && (
              <Button aria-expanded={isSideOpen} onClick={() => setSideOpen(!isSideOpen)} isOnlyNarrow>
                {side.label}
              </Button>
            )}
          </div>
        </header>
        <div className={styles[width]}>{children}</div>
      </main>
      {side !== undefined && (
        <aside className={isSideOpen ? `${styles['side']} ${styles['open']}` : styles['side']} aria-label={side.label}>
          <div className={styles['close']}>
            <Button onClick={side.onClose ?? (() => setSideOpen(false))}>Close</Button>
          </div>
          {side.content}
        </aside>
      )}
    </div>
  )
}

/** `(2) main · heddle`: what needs you is in the title of every page. */
function useTitle(title: string): void {
  const { data } = useStatus()
  const count = data?.needsYou.length ?? 0
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${withoutBidi(title)} · heddle`
  }, [title, count])
}

/** A part of a page under a heading of its own. */
export function Section({ title, more, children }: { title: ReactNode; more?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles['section']}>
      <div className={styles['section-head']}>
        <h2>{title}</h2>
        {more !== undefined && <div className={styles['more']}>{more}</div>}
      </div>
      {children}
    </section>
  )
}
